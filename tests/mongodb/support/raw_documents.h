#pragma once

#include <bson/bson.h>
#include <mongoc/mongoc.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doclock/key.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongo_docs_test {

using BsonPtr = std::unique_ptr<bson_t, decltype(&bson_destroy)>;

inline BsonPtr Copy(const bson_t& doc) { return {bson_copy(&doc), &bson_destroy}; }

/// From relaxed or canonical Extended JSON.
inline BsonPtr Parse(const std::string& text) {
  bson_error_t error;
  bson_t* const doc = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                         static_cast<ssize_t>(text.size()), &error);
  if (doc == nullptr) throw std::invalid_argument(error.message);
  return {doc, &bson_destroy};
}

inline std::string Canonical(const bson_t& doc) {
  const std::unique_ptr<char, decltype(&bson_free)> text(
      bson_as_canonical_extended_json(&doc, nullptr), &bson_free);
  return text ? text.get() : "(not valid UTF-8)";
}

/// One field as it is stored.
struct RawField {
  std::string name;
  bson_type_t type;
  std::string bytes;
  friend bool operator==(const RawField&, const RawField&) = default;
};

/// All fields in their order, but those named.
inline std::vector<RawField> RawFields(const bson_t& doc, const std::vector<std::string>& without) {
  std::vector<RawField> fields;
  bson_iter_t iter;
  bson_iter_init(&iter, &doc);
  while (bson_iter_next(&iter)) {
    mongodb::Doc one;
    const std::string name(bson_iter_key(&iter), bson_iter_key_len(&iter));
    bool skip = false;
    for (const std::string& other : without) skip = skip || other == name;
    if (skip) continue;
    one.Add("v", *bson_iter_value(&iter));
    fields.push_back(
        {name, bson_iter_type(&iter),
         std::string(reinterpret_cast<const char*>(bson_get_data(one.get())), one.get()->len)});
  }
  return fields;
}

/// The server that the tests are to use, without a database.
inline std::string SharedServerUri() {
  if (const char* const uri = std::getenv("DOCLOCK_TEST_MONGODB")) return uri;
#ifdef DOCLOCK_MONGODB_SET_URI
  return DOCLOCK_MONGODB_SET_URI;
#else
  throw std::runtime_error(
      "no MongoDB server to test on: start one with scripts/mongo.sh and set DOCLOCK_TEST_MONGODB "
      "to its URI");
#endif
}

/// A database of the test's own, as a program sees it that knows nothing of this library.
class Documents {
 public:
  Documents() {
    mongoc_init();
    const std::string server = SharedServerUri();
    client_ = mongoc_client_new(server.c_str());
    if (client_ == nullptr) throw std::runtime_error("the test server's URI is not valid");
    static int count = 0;
    name_ = "doclock_docs_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
    const auto options = server.find("/?");
    uri_ = options == server.npos
               ? server + (server.ends_with('/') ? "" : "/") + name_
               : server.substr(0, options + 1) + name_ + server.substr(options + 1);
  }
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;
  ~Documents() {
    try {
      Run(mongodb::Doc::Of("dropDatabase", 1));
    } catch (const std::runtime_error&) {
      // It stays until the server goes.
    }
    mongoc_client_destroy(client_);
  }

  /// The URI to open a store of it.
  [[nodiscard]] const std::string& uri() const noexcept { return uri_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// A command; its answer. @throws std::runtime_error with the server's words
  BsonPtr Run(const mongodb::Doc& command) {
    bson_t reply;
    bson_error_t error{};
    const bool done = mongoc_client_command_simple(client_, name_.c_str(), command.get(), nullptr,
                                                   &reply, &error);
    BsonPtr answer = Copy(reply);
    bson_destroy(&reply);
    if (!done) throw std::runtime_error(error.message);
    return answer;
  }

  void Insert(const std::string& collection, const mongodb::Doc& doc) {
    Insert(collection, mongodb::Array().Add(doc));
  }
  void Insert(const std::string& collection, const mongodb::Array& docs) {
    mongodb::Doc command;
    command.Add("insert", std::string_view(collection));
    command.Add("documents", docs);
    mongodb::Doc concern;
    concern.Add("w", "majority");
    command.Add("writeConcern", concern);
    const BsonPtr reply = Run(command);
    bson_iter_t errors;
    if (bson_iter_init_find(&errors, reply.get(), "writeErrors")) {
      throw std::runtime_error("the server refuses a document: " + Canonical(*reply));
    }
  }
  void Insert(const std::string& collection, const std::string& json) {
    mongodb::Doc doc;
    bson_concat(doc.get(), Parse(json).get());
    Insert(collection, doc);
  }

  /// The one document that meets the filter; null if there is none.
  BsonPtr Find(const std::string& collection, const mongodb::Doc& filter) {
    mongodb::Doc command;
    command.Add("find", std::string_view(collection)).Add("filter", filter).Add("limit", 1);
    const BsonPtr reply = Run(command);
    bson_iter_t iter, first;
    bson_t doc;
    if (bson_iter_init(&iter, reply.get()) &&
        bson_iter_find_descendant(&iter, "cursor.firstBatch.0", &first) &&
        mongodb::DocumentAt(first, doc)) {
      return Copy(doc);
    }
    return {nullptr, &bson_destroy};
  }
  BsonPtr Find(const std::string& collection, const Key& key) {
    return Find(collection, mongodb::Doc::Of("_id", mongodb::Equals(key)));
  }
  std::int64_t Count(const std::string& collection) {
    const BsonPtr reply = Run(mongodb::Doc::Of("count", std::string_view(collection)));
    bson_iter_t n;
    return bson_iter_init_find(&n, reply.get(), "n") ? bson_iter_as_int64(&n) : 0;
  }
  /// Makes one update (modifiers or a pipeline, as a document) of one document.
  void Update(const std::string& collection, const Key& key, const std::string& json) {
    mongodb::Doc change;
    bson_concat(change.get(), Parse(json).get());
    mongodb::Doc statement;
    statement.Add("q", mongodb::Doc::Of("_id", mongodb::Equals(key))).Add("u", change);
    mongodb::Doc command;
    command.Add("update", std::string_view(collection));
    command.Add("updates", mongodb::Array().Add(statement));
    Run(command);
  }

 private:
  mongoc_client_t* client_ = nullptr;
  std::string name_, uri_;
};

}  // namespace doclock::mongo_docs_test
