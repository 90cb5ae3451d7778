#pragma once

#include <cstdio>
#include <random>

#include "mongodb/layouts/lock_peer.h"

namespace doclock::mongo_test {

/// DistributedLock.MongoDB 2.8.1 (.NET).
class DistributedLockPeer final : public LockPeer {
 public:
  using LockPeer::LockPeer;

  /// TryAcquireAsync.
  std::optional<Held> TryAcquire(const std::string& name, std::chrono::milliseconds ttl) override {
    const std::string mine = NewGuid();
    const std::string over =
        R"({"$lte": [{"$ifNull": ["$expiresAt", {"$date": {"$numberLong": "0"}}]}, "$$NOW"]})";
    const auto unless = [&](const std::string& then, const std::string& field) {
      return R"({"$cond": [)" + over + ", " + then + ", \"$" + field + "\"]}";
    };
    mongodb::Doc command = mongodb::Doc::Of("findAndModify", collection());
    command.Add("query", mongodb::Doc::Of("_id", name)).Add("new", true).Add("upsert", true);
    AddPipeline(command, "update",
                {R"({"$set": {"lockId": )" + unless('"' + mine + '"', "lockId") +
                 R"(, "expiresAt": )" + unless(EndOf(ttl), "expiresAt") + R"(, "acquiredAt": )" +
                 unless(R"("$$NOW")", "acquiredAt") + R"(, "fencingToken": )" +
                 unless(R"({"$add": [{"$ifNull": ["$fencingToken", {"$numberLong": "0"}]},
                            {"$numberLong": "1"}]})",
                        "fencingToken") +
                 "}}"});
    std::optional<Held> held;
    Run(command, [&](const bson_t& reply) {
      bson_t value;
      if (!mongodb::FindDocument(reply, "value", value)) throw std::runtime_error("no document");
      ReadStrictly(value);
      if (mongodb::TextAt(value, "lockId") == mine) held = {mine, FenceIn(value)};
    });
    return held;
  }
  /// RenewOrValidateLeaseAsync.
  bool Renew(const std::string& name, const Held& held, std::chrono::milliseconds ttl) override {
    mongodb::Doc statement;
    statement.Add("q", FilterOf(name, held));
    AddPipeline(statement, "u", {R"({"$set": {"expiresAt": )" + EndOf(ttl) + "}}"});
    return Count("update", "updates", statement) == 1;
  }
  /// ReleaseAsync. What it deleted does not matter to it.
  void Release(const std::string& name, const Held& held) override {
    mongodb::Doc statement;
    statement.Add("q", FilterOf(name, held)).Add("limit", 1);
    Count("delete", "deletes", statement);
  }
  /// What MongoIndexInitializer makes after the first success.
  void MakeIndexes() override {
    Run(FromJson(R"({"createIndexes": ")" + collection() + R"(", "indexes": [
        {"key": {"expiresAt": 1}, "name": "expiresAt_ttl", "expireAfterSeconds": 0}]})"));
  }
  /// BusyWaitHelper.
  std::chrono::milliseconds Pause() override {
    return std::chrono::milliseconds(std::uniform_int_distribution(10, 800)(random_));
  }
  /// MongoLockDocument: five members, none that is not known, none that is null.
  void ReadStrictly(const bson_t& doc) const override {
    ReadMembers(doc, {{"_id", BSON_TYPE_UTF8},
                      {"lockId", BSON_TYPE_UTF8},
                      {"acquiredAt", BSON_TYPE_DATE_TIME},
                      {"expiresAt", BSON_TYPE_DATE_TIME},
                      {"fencingToken", BSON_TYPE_INT64}});
  }
  [[nodiscard]] std::int64_t FenceIn(const bson_t& doc) const override {
    return IntegerAt(doc, "fencingToken");
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
  static mongodb::Doc FilterOf(const std::string& name, const Held& held) {
    mongodb::Doc filter = mongodb::Doc::Of("_id", name);
    filter.Add("lockId", held.lock_id);
    return filter;
  }

  std::mt19937 random_{std::random_device{}()};
};

}  // namespace doclock::mongo_test
