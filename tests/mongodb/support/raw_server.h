#pragma once

#include <mongoc/mongoc.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mongodb/bson/bson.h"
#include "mongodb/support/driver_lines.h"

namespace doclock::mongo_test {

/// A server or replica set, as any program sees it that knows nothing of this library.
class RawServer {
 public:
  using Visit = std::function<void(const bson_t& reply)>;

  explicit RawServer(const std::string& uri) {
    DriverLines::Listen();
    mongoc_init();
    client_ = mongoc_client_new(uri.c_str());
    if (client_ == nullptr) throw std::runtime_error("the test server's URI is not valid");
    mongoc_client_set_error_api(client_, MONGOC_ERROR_API_VERSION_2);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() { mongoc_client_destroy(client_); }

  /// @throws std::runtime_error with the server's words
  void Run(const std::string& database, const mongodb::Doc& command, const Visit& visit = {}) {
    bson_t reply;
    bson_error_t error{};
    const bool done = mongoc_client_command_simple(client_, database.c_str(), command.get(),
                                                   nullptr, &reply, &error);
    if (done && visit) visit(reply);
    bson_destroy(&reply);
    if (!done) throw std::runtime_error(error.message);
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
  mongoc_client_t* client_ = nullptr;
};

/// A URI from the environment, or the one that this build's servers have.
inline std::string UriOf(const char* variable, const char* otherwise) {
  const char* const uri = std::getenv(variable);
  return uri == nullptr ? otherwise : uri;
}
/// The replica set that tests share. No test may kill or demote its members.
inline std::string SetUri() { return UriOf("DOCLOCK_TEST_MONGODB", DOCLOCK_MONGODB_SET_URI); }
/// A server that is no replica set.
inline std::string StandaloneUri() {
  return UriOf("DOCLOCK_TEST_MONGODB_STANDALONE", DOCLOCK_MONGODB_STANDALONE_URI);
}

/// A replica set of one that requires authentication.
inline std::string AuthUri() {
  return UriOf("DOCLOCK_TEST_MONGODB_AUTH", DOCLOCK_MONGODB_AUTH_URI);
}

/// The URI with a database in it: before the options.
inline std::string WithDatabase(const std::string& uri, const std::string& database) {
  const auto options = uri.find("/?");
  if (options == uri.npos) return uri + (uri.ends_with('/') ? "" : "/") + database;
  return uri.substr(0, options + 1) + database + uri.substr(options + 1);
}

/// A database of the test's own, dropped at its end.
class Database {
 public:
  explicit Database(const std::string& uri) : server_(uri) {
    static int count = 0;
    name_ = "doclock_test_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
    uri_ = WithDatabase(uri, name_);
    try {
      Run(mongodb::Doc::Of("ping", 1));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(
          std::string("no MongoDB server to test on (CTest starts them; by hand, start one with "
                      "scripts/mongo.sh and set DOCLOCK_TEST_MONGODB to its URI): ") +
          error.what());
    }
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    try {
      Run(mongodb::Doc::Of("dropDatabase", 1));
    } catch (const std::exception&) {
      // It stays until the server goes.
    }
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The URI to open a store of it.
  [[nodiscard]] const std::string& uri() const noexcept { return uri_; }
  [[nodiscard]] RawServer& server() noexcept { return server_; }
  /// A command on this database.
  void Run(const mongodb::Doc& command, const RawServer::Visit& visit = {}) {
    server_.Run(name_, command, visit);
  }
  /// The documents of a collection that meet the filter, by `_id`, as the server has them.
  std::string Stored(const mongodb::Doc& filter = {}, std::string_view collection = "things") {
    mongodb::Doc command;
    command.Add("find", collection).Add("filter", filter).Add("sort", mongodb::Doc::Of("_id", 1));
    std::string text;
    Run(command, [&](const bson_t& reply) {
      char* const json = bson_as_canonical_extended_json(&reply, nullptr);
      const std::string_view all(json);
      // The rest is the cluster time, which changes.
      const auto batch = all.find("firstBatch");
      text = all.substr(batch, all.rfind("\"ok\" :") - batch);
      bson_free(json);
    });
    return text;
  }

 private:
  RawServer server_;
  std::string name_, uri_;
};

}  // namespace doclock::mongo_test
