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

#include "doclock/document.h"
#include "mongodb/bson/bson.h"
#include "mongodb/support/driver_lines.h"
#include "mongodb/support/raw_documents.h"

namespace doclock::mongo_test {

using mongo_docs_test::BsonPtr;

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

  /// A command; its answer. @throws std::runtime_error with the server's words
  BsonPtr Run(const std::string& database, const mongodb::Doc& command, const Visit& visit = {}) {
    bson_t reply;
    bson_error_t error{};
    const bool done = mongoc_client_command_simple(client_, database.c_str(), command.get(),
                                                   nullptr, &reply, &error);
    BsonPtr answer = mongo_docs_test::Copy(reply);
    bson_destroy(&reply);
    if (!done) throw std::runtime_error(error.message);
    if (visit) visit(*answer);
    return answer;
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
  explicit Database(const std::string& uri = SetUri()) : server_(uri) {
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
  /// A command on this database; its answer.
  BsonPtr Run(const mongodb::Doc& command, const RawServer::Visit& visit = {}) {
    return server_.Run(name_, command, visit);
  }
  void Insert(std::string_view collection, const mongodb::Doc& doc) {
    Insert(collection, mongodb::Array().Add(doc));
  }
  void Insert(std::string_view collection, const mongodb::Array& docs) {
    mongodb::Doc command = mongodb::Doc::Of("insert", collection);
    command.Add("documents", docs).Add("writeConcern", mongodb::Doc::Of("w", "majority"));
    const BsonPtr reply = Run(command);
    if (bson_has_field(reply.get(), "writeErrors")) {
      throw std::runtime_error("the server refuses a document: " +
                               mongo_docs_test::Canonical(*reply));
    }
  }
  void Insert(std::string_view collection, const std::string& json) {
    Insert(collection, DocOf(json));
  }
  /// The one document that meets the filter; null if there is none.
  BsonPtr Find(std::string_view collection, const mongodb::Doc& filter) {
    mongodb::Doc command = mongodb::Doc::Of("find", collection);
    const BsonPtr reply = Run(command.Add("filter", filter).Add("limit", 1));
    bson_iter_t iter, first;
    bson_t doc;
    if (bson_iter_init(&iter, reply.get()) &&
        bson_iter_find_descendant(&iter, "cursor.firstBatch.0", &first) &&
        mongodb::DocumentAt(first, doc)) {
      return mongo_docs_test::Copy(doc);
    }
    return {nullptr, &bson_destroy};
  }
  BsonPtr Find(std::string_view collection, const Key& key) {
    return Find(collection, mongodb::Doc::Of("_id", mongodb::Equals(key)));
  }
  std::int64_t Count(std::string_view collection, const mongodb::Doc& query = {}) {
    mongodb::Doc command = mongodb::Doc::Of("count", collection);
    const BsonPtr reply = Run(command.Add("query", query));
    bson_iter_t n;
    return bson_iter_init_find(&n, reply.get(), "n") ? bson_iter_as_int64(&n) : 0;
  }
  /// Makes one update (modifiers or a pipeline) of one document, or of all.
  void Update(std::string_view collection, const mongodb::Doc& filter, const mongodb::Doc& change,
              bool all = false) {
    mongodb::Doc statement, command = mongodb::Doc::Of("update", collection);
    statement.Add("q", filter).Add("multi", all);
    if (bson_has_field(change.get(), "0")) {
      statement.AddArray("u", change);
    } else {
      statement.Add("u", change);
    }
    Run(command.Add("updates", mongodb::Array().Add(statement)));
  }
  void Update(std::string_view collection, const Key& key, const std::string& json) {
    Update(collection, mongodb::Doc::Of("_id", mongodb::Equals(key)), DocOf(json));
  }
  void Delete(std::string_view collection, const mongodb::Doc& filter) {
    mongodb::Doc statement, command = mongodb::Doc::Of("delete", collection);
    statement.Add("q", filter).Add("limit", 0);
    Run(command.Add("deletes", mongodb::Array().Add(statement)));
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
  static mongodb::Doc DocOf(const std::string& json) {
    mongodb::Doc doc;
    bson_concat(doc.get(), mongo_docs_test::Parse(json).get());
    return doc;
  }

  RawServer server_;
  std::string name_, uri_;
};

}  // namespace doclock::mongo_test
