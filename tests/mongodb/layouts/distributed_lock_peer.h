#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "mongodb/support/raw_documents.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {

/// DistributedLock.MongoDB 2.8.1, re-created: its commands, letter for letter, and a reader that
/// refuses what its class map refuses. It is not the library itself.
class DistributedLockPeer {
 public:
  struct Held {
    std::string lock_id;
    std::int64_t token = 0;
  };
  /// What its driver throws when it reads what its class does not know.
  class FormatException : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };

  /// @param uri of a server, without a database
  DistributedLockPeer(const std::string& uri, std::string database, std::string collection)
      : server_(uri), database_(std::move(database)), collection_(std::move(collection)) {}

  /// TryAcquireAsync. Nothing: it is busy. @throws FormatException
  std::optional<Held> TryAcquire(const std::string& name, std::chrono::milliseconds ttl) {
    const std::string mine = NewGuid();
    const std::string over =
        R"({"$lte": [{"$ifNull": ["$expiresAt", {"$date": {"$numberLong": "0"}}]}, "$$NOW"]})";
    const auto unless = [&](const std::string& then, const std::string& field) {
      return R"({"$cond": [)" + over + ", " + then + ", \"$" + field + "\"]}";
    };
    mongodb::Doc command = mongodb::Doc::Of("findAndModify", collection_);
    command.Add("query", mongodb::Doc::Of("_id", name)).Add("new", true).Add("upsert", true);
    AddPipeline(command, "update",
                R"({"$set": {"lockId": )" + unless('"' + mine + '"', "lockId") +
                    R"(, "expiresAt": )" + unless(EndOf(ttl), "expiresAt") + R"(, "acquiredAt": )" +
                    unless(R"("$$NOW")", "acquiredAt") + R"(, "fencingToken": )" +
                    unless(R"({"$add": [{"$ifNull": ["$fencingToken", {"$numberLong": "0"}]},
                               {"$numberLong": "1"}]})",
                           "fencingToken") +
                    "}}");
    std::optional<Held> held;
    server_.Run(database_, command, [&](const bson_t& reply) {
      bson_t value;
      if (!mongodb::FindDocument(reply, "value", value)) throw std::runtime_error("no document");
      ReadStrictly(value);
      bson_iter_t token;
      mongodb::FindField(value, "fencingToken", token);
      if (mongodb::TextAt(value, "lockId") == mine) held = {mine, bson_iter_int64(&token)};
    });
    return held;
  }
  /// RenewOrValidateLeaseAsync. False: the lock is lost.
  bool Renew(const std::string& name, const Held& held, std::chrono::milliseconds ttl) {
    mongodb::Doc statement;
    statement.Add("q", FilterOf(name, held));
    AddPipeline(statement, "u", R"({"$set": {"expiresAt": )" + EndOf(ttl) + "}}");
    return Count("update", "updates", statement) == 1;
  }
  /// ReleaseAsync. What it deleted does not matter to it.
  void Release(const std::string& name, const Held& held) {
    mongodb::Doc statement;
    statement.Add("q", FilterOf(name, held)).Add("limit", 1);
    Count("delete", "deletes", statement);
  }
  /// What MongoIndexInitializer makes after the first success.
  void MakeIndex() {
    server_.Run(database_, FromJson(R"({"createIndexes": ")" + collection_ + R"(", "indexes": [
        {"key": {"expiresAt": 1}, "name": "expiresAt_ttl", "expireAfterSeconds": 0}]})"));
  }
  /// BusyWaitHelper: how long it sleeps between two attempts.
  std::chrono::milliseconds Pause() {
    return std::chrono::milliseconds(std::uniform_int_distribution(10, 800)(random_));
  }

  /// Of MongoLockDocument: five members, none that is not known, none that is null.
  static void ReadStrictly(const bson_t& doc) {
    constexpr std::array<std::pair<std::string_view, bson_type_t>, 5> kMembers{
        {{"_id", BSON_TYPE_UTF8},
         {"lockId", BSON_TYPE_UTF8},
         {"acquiredAt", BSON_TYPE_DATE_TIME},
         {"expiresAt", BSON_TYPE_DATE_TIME},
         {"fencingToken", BSON_TYPE_INT64}}};
    std::size_t seen = 0;
    bson_iter_t at;
    bson_iter_init(&at, &doc);
    while (bson_iter_next(&at)) {
      const std::string_view name = bson_iter_key(&at);
      const auto member = std::find_if(kMembers.begin(), kMembers.end(),
                                       [&](const auto& known) { return known.first == name; });
      if (member == kMembers.end()) {
        throw FormatException("Element '" + std::string(name) + "' does not match any property");
      }
      if (bson_iter_type(&at) != member->second) {
        throw FormatException("Cannot deserialize '" + std::string(name) + "'");
      }
      ++seen;
    }
    if (seen != kMembers.size()) throw FormatException("a member is missing");
  }

  static mongodb::Doc FromJson(const std::string& json) {
    mongodb::Doc doc;
    bson_concat(doc.get(), mongo_docs_test::Parse(json).get());
    return doc;
  }

 private:
  /// Guid.ToString("N").
  static std::string NewGuid() {
    std::string text;
    char digits[3];
    for (const std::uint8_t byte : NewUuid()) {
      std::snprintf(digits, sizeof(digits), "%02x", byte);
      text += digits;
    }
    return text;
  }
  static std::string EndOf(std::chrono::milliseconds ttl) {
    return R"({"$dateAdd": {"startDate": "$$NOW", "unit": "millisecond", "amount": )" +
           std::to_string(ttl.count()) + "}}";
  }
  static void AddPipeline(mongodb::Doc& doc, const char* name, const std::string& stage) {
    doc.AddArray(name, mongodb::Array().Add(FromJson(stage)).doc());
  }
  static mongodb::Doc FilterOf(const std::string& name, const Held& held) {
    mongodb::Doc filter = mongodb::Doc::Of("_id", name);
    filter.Add("lockId", held.lock_id);
    return filter;
  }
  std::int64_t Count(const char* verb, const char* list, const mongodb::Doc& statement) {
    mongodb::Doc command = mongodb::Doc::Of(verb, collection_);
    command.AddArray(list, mongodb::Array().Add(statement).doc());
    std::int64_t n = 0;
    server_.Run(database_, command, [&](const bson_t& reply) {
      bson_iter_t count;
      if (bson_iter_init_find(&count, &reply, "n")) n = bson_iter_as_int64(&count);
    });
    return n;
  }

  RawServer server_;
  const std::string database_, collection_;
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace doclock::mongo_test
