#pragma once

#include <boost/uuid/uuid_io.hpp>
#include <random>

#include "mongodb/layouts/lock_peer.h"

namespace doclock::mongo_test {

/// The MongoDB pessimistic locks for Java, com.mongodb.pessimistic 0.0.1 at c212380: a lock manager
/// and the locks that one thread has of it.
class PessimisticLockPeer final : public LockPeer {
 public:
  PessimisticLockPeer(const std::string& uri, std::string database, std::string collection)
      : LockPeer(uri, std::move(database), std::move(collection)) {
    UpdateServerTimeDelta();
  }

  /// MongoLockImpl.tryLock, of an object of its own.
  std::optional<Held> TryAcquire(const std::string& name, std::chrono::milliseconds ttl) override {
    ttl_ = ttl;
    const Held mine{to_string(NewUuid())};
    if (!InsertLock(name, mine, ttl) && !UpdateLock(name, mine, ttl)) return std::nullopt;
    attempts_ = 0;
    return mine;
  }
  /// The same of the object that has the lock, which extends it. (It takes what another client has
  /// lost, and does not tell the difference.)
  bool Renew(const std::string& name, const Held& held, std::chrono::milliseconds ttl) override {
    return InsertLock(name, held, ttl) || UpdateLock(name, held, ttl);
  }
  /// MongoLockImpl.unlock.
  void Release(const std::string& name, const Held& held) override {
    mongodb::Doc command = mongodb::Doc::Of("findAndModify", collection());
    command.Add("query",
                FromJson(R"({"_id": ")" + name + R"(", "ownerId": ")" + held.lock_id + R"("})"));
    command.Add("remove", true).Add("writeConcern", mongodb::Doc::Of("w", "majority"));
    Run(command);
  }
  void MakeIndexes() override {
    Run(FromJson(R"({"createIndexes": ")" + collection() + R"(", "indexes": [
        {"key": {"expiresAt": 1}, "name": "expiresAt_1", "unique": false},
        {"key": {"ownerId": 1}, "name": "ownerId_1", "unique": false}]})"));
  }
  /// TemporalAlignmentStrategy.calculateDelay.
  std::chrono::milliseconds Pause() override {
    const std::int64_t base = ttl_.count() / 3 / 10, jitter = base / 2;
    const std::int64_t most = 3 * (ttl_.count() / 3);
    const std::int64_t delay =
        base * (std::int64_t{1} << std::min(attempts_++, 20)) +
        std::uniform_int_distribution<std::int64_t>(-jitter, jitter - 1)(random_);
    return std::chrono::milliseconds(std::min(delay, most));
  }
  /// The library reads ownerId as a text, computes with the two numbers, and writes nothing else.
  void ReadStrictly(const bson_t& doc) const override {
    ReadMembers(doc, {{"_id", BSON_TYPE_UTF8},
                      {"ownerId", BSON_TYPE_UTF8},
                      {"ttlMs", BSON_TYPE_INT64},
                      {"expiresAt", BSON_TYPE_INT64}});
    if (IntegerAt(doc, "ttlMs") <= 0) throw FormatException("a beat would end this lock");
  }
  [[nodiscard]] std::int64_t FenceIn(const bson_t& doc) const override {
    const std::string owner = mongodb::TextAt(doc, "ownerId");
    const std::size_t sign = owner.find('/');
    return sign == owner.npos ? 0 : std::stoll(owner.substr(sign + 1));
  }

  /// MongoLockRepository.bulkExtendActiveLocks, as each beat does it: whoever the owner is.
  std::int64_t Beat(const std::string& name) {
    mongodb::Doc statement;
    statement.Add("q", FromJson(R"({"_id": {"$in": [")" + name + R"("]}})")).Add("multi", true);
    AddPipeline(
        statement, "u",
        {R"({"$set": {"expiresAt": {"$add": [)" + Long(ServerTime()) + R"(, "$ttlMs"]}}})"});
    return Count("update", "updates", statement, Majority());
  }
  /// MongoLockRepository.bulkDeleteExpiredLocks, as each tenth beat does it.
  std::int64_t DeleteExpired() {
    mongodb::Doc statement;
    statement.Add("q",
                  FromJson(R"({"$expr": {"$lt": ["$expiresAt", )" + Long(ServerTime()) + "]}}"));
    statement.Add("limit", 0);
    return Count("delete", "deletes", statement, Majority());
  }
  /// Its estimate of the server's time is off by this much from now on.
  void Skew(std::chrono::milliseconds skew) { skew_ = skew.count(); }

 private:
  static mongodb::Doc Majority() {
    return mongodb::Doc::Of("writeConcern", mongodb::Doc::Of("w", "majority"));
  }
  static std::string Long(std::int64_t number) {
    return R"({"$numberLong": ")" + std::to_string(number) + R"("})";
  }
  static std::int64_t ClientTime() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  [[nodiscard]] std::int64_t ServerTime() const { return delta_ + ClientTime() + skew_; }
  /// Reads the time with any document of the collection; makes one if there is none.
  void UpdateServerTimeDelta() {
    std::optional<std::int64_t> time;
    while (!(time = ReadServerTime())) {
      Run(FromJson(R"({"findAndModify": ")" + collection() + R"(", "query": {"_id": 0},
          "update": [{"$set": {"expiresAt": {"$numberLong": "9223372036854775807"}}},
                     {"$set": {"ownerId": "Used for $$NOW retrieving aggregation pipeline"}},
                     {"$set": {"ttlMs": 0}}],
          "upsert": true, "writeConcern": {"w": "majority"}})"));
    }
    delta_ = *time - ClientTime();
  }
  std::optional<std::int64_t> ReadServerTime() {
    std::optional<std::int64_t> time;
    Run(FromJson(R"({"aggregate": ")" + collection() +
                 R"(", "pipeline": [{"$project": {"serverTime": "$$NOW"}}, {"$limit": 1}],
                     "cursor": {}})"),
        [&](const bson_t& reply) {
          bson_iter_t at, found;
          if (bson_iter_init(&at, &reply) &&
              bson_iter_find_descendant(&at, "cursor.firstBatch.0.serverTime", &found)) {
            time = bson_iter_date_time(&found);
          }
        });
    return time;
  }
  bool InsertLock(const std::string& name, const Held& held, std::chrono::milliseconds ttl) {
    mongodb::Doc command = mongodb::Doc::Of("insert", collection()), document;
    document.Add("_id", name).Add("ownerId", held.lock_id).Add("ttlMs", ttl);
    document.Add("expiresAt", ServerTime() + ttl.count());
    command.Add("documents", mongodb::Array().Add(document));
    bson_concat(command.get(), Majority().get());
    bool inserted = false;
    Run(command, [&](const bson_t& reply) {
      bson_iter_t errors;
      inserted = !mongodb::FindField(reply, "writeErrors", errors);
    });
    return inserted;
  }
  bool UpdateLock(const std::string& name, const Held& held, std::chrono::milliseconds ttl) {
    const std::int64_t now = ServerTime();
    mongodb::Doc command = mongodb::Doc::Of("findAndModify", collection());
    command.Add("query", FromJson(R"({"$and": [{"_id": ")" + name + R"("}, {"$or": [
        {"ownerId": ")" + held.lock_id +
                                  R"("},
        {"$expr": {"$lt": ["$expiresAt", )" +
                                  Long(now) + "]}}]}]}"));
    AddPipeline(command, "update",
                {R"({"$set": {"ownerId": ")" + held.lock_id + R"("}})",
                 R"({"$set": {"ttlMs": )" + Long(ttl.count()) + "}}",
                 R"({"$set": {"expiresAt": )" + Long(now + ttl.count()) + "}}"});
    command.Add("new", false);
    bson_concat(command.get(), Majority().get());
    bool matched = false;
    Run(command, [&](const bson_t& reply) {
      bson_t before;
      matched = mongodb::FindDocument(reply, "value", before);
      bson_iter_t owner;
      if (matched && mongodb::FindField(before, "ownerId", owner) &&
          !BSON_ITER_HOLDS_UTF8(&owner)) {
        throw FormatException("class cannot be cast to class java.lang.String");
      }
    });
    return matched;
  }

  std::int64_t delta_ = 0, skew_ = 0;
  std::chrono::milliseconds ttl_{5000};
  int attempts_ = 0;
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace doclock::mongo_test
