#ifdef DOCLOCK_WITH_MONGODB

#include "conformance/mongodb_backend.h"

#include <mongoc/mongoc.h>

#include <cstdlib>
#include <stdexcept>

#include "doclock/mongodb_store.h"
#include "mongo/bson.h"

namespace doclock::conformance {
namespace {

using mongo::Array;
using mongo::Doc;

/// The server as any program sees it that knows nothing of this library.
class RawServer {
 public:
  explicit RawServer(const std::string& uri) : client_(mongoc_client_new(uri.c_str())) {
    if (client_ == nullptr) throw std::runtime_error("the test server's URI is not valid");
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() { mongoc_client_destroy(client_); }

  void Run(const std::string& database, const Doc& command) {
    bson_error_t error;
    if (!mongoc_client_command_simple(client_, database.c_str(), command.get(), nullptr, nullptr,
                                      &error)) {
      throw std::runtime_error(error.message);
    }
  }
  std::vector<std::string> Collections(const std::string& database) {
    mongoc_database_t* const handle = mongoc_client_get_database(client_, database.c_str());
    char** const names = mongoc_database_get_collection_names_with_opts(handle, nullptr, nullptr);
    std::vector<std::string> found;
    for (char** name = names; name != nullptr && *name != nullptr; ++name)
      found.emplace_back(*name);
    bson_strfreev(names);
    mongoc_database_destroy(handle);
    return found;
  }

 private:
  mongoc_client_t* client_;
};

std::string ServerUri() {
  const char* const uri = std::getenv("DOCLOCK_TEST_MONGODB");
  return uri == nullptr ? "" : uri;
}

/// The URI with a database in it: before the options.
std::string WithDatabase(const std::string& uri, const std::string& database) {
  const auto options = uri.find("/?");
  if (options == uri.npos) return uri + (uri.ends_with('/') ? "" : "/") + database;
  return uri.substr(0, options + 1) + database + uri.substr(options + 1);
}

struct Database {
  Database() : server(ServerUri()) {
    static int count = 0;
    name = "doclock_test_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    try {
      server.Run(name, Doc::Of("dropDatabase", 1));
    } catch (const std::exception&) {
      // It stays until the server goes.
    }
  }

  /// Moves the dates of locks into the past: nobody can move the server's clock.
  void Age(std::chrono::milliseconds by) {
    for (const std::string& collection : server.Collections(name)) {
      Array statements;
      for (const char* field : {"lockTime", "lockClosed"}) {
        Array difference;
        difference.Add(std::string_view("$" + std::string(field))).Add(std::int64_t{by.count()});
        const Doc set =
            Doc::Of("$set", Doc::Of(field, Doc::OfArray("$subtract", difference.doc())));
        Doc statement;
        statement.Add("q", Doc::Of(field, Doc::Of("$type", "date")));
        statement.AddArray("u", Array().Add(set).doc()).Add("multi", true);
        statements.Add(statement);
      }
      Doc command;
      command.Add("update", std::string_view(collection)).AddArray("updates", statements.doc());
      server.Run(name, command);
    }
  }
  void Spoil(const std::string& collection, const Key& key) {
    Doc statement;
    statement.Add("q", Doc::Of("_id", key));
    statement.Add("u", Doc::Of("$set", Doc::Of("lockVersion", "first")));
    Doc command;
    command.Add("update", std::string_view(collection));
    command.AddArray("updates", Array().Add(statement).doc());
    server.Run(name, command);
  }

  RawServer server;
  std::string name;
};

}  // namespace

bool HasMongodb() { return !ServerUri().empty(); }

Backend MakeMongodb() {
  auto database = std::make_shared<Database>();
  Backend backend;
  backend.clock = std::make_shared<ManualClock>();
  backend.open_another = [uri = WithDatabase(ServerUri(), database->name)] {
    return OpenMongodbStore(uri);
  };
  backend.store = backend.open_another();
  backend.advance = [database](std::chrono::milliseconds by) { database->Age(by); };
  backend.slack = 2s;
  backend.spoil = [database](const std::string& collection, const Key& key) {
    database->Spoil(collection, key);
  };
  backend.remains = database;
  return backend;
}

}  // namespace doclock::conformance

#endif
