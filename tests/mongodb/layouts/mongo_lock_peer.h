#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mongodb/support/raw_documents.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {

/// The calls of square/mongo-lock on the collection "locks". Each returns "locked", "none" (no such
/// lock), "error" with its text, or "done" with how many locks it concerned, and each of them as
/// TYPE/ID/OWNER/HOST.
class MongoLockPeer {
 public:
  MongoLockPeer() = default;
  MongoLockPeer(const MongoLockPeer&) = delete;
  MongoLockPeer& operator=(const MongoLockPeer&) = delete;
  virtual ~MongoLockPeer() = default;

  std::string CreateIndexes() { return Ask({{"Do", "indexes"}}); }
  /// @param ttl in seconds; 0: for ever
  std::string XLock(const std::string& name, const std::string& id, unsigned ttl = 30) {
    return Ask({{"Do", "xlock"}, {"Name", name}, {"Id", id}, {"Ttl", ttl}, {"Owner", "gopher"}});
  }
  std::string SLock(const std::string& name, const std::string& id, int max = -1,
                    unsigned ttl = 30) {
    return Ask({{"Do", "slock"}, {"Name", name}, {"Id", id}, {"Ttl", ttl}, {"Max", max}});
  }
  std::string Renew(const std::string& id, unsigned ttl = 30) {
    return Ask({{"Do", "renew"}, {"Id", id}, {"Ttl", ttl}});
  }
  std::string Unlock(const std::string& id) { return Ask({{"Do", "unlock"}, {"Id", id}}); }
  std::string Purge() { return Ask({{"Do", "purge"}}); }
  std::string Status(const std::string& name) { return Ask({{"Do", "status"}, {"Name", name}}); }

 private:
  virtual std::string Ask(const nlohmann::json& call) = 0;
};

/// The library, re-created from its source: its commands, and a reader that refuses what its
/// structs do not take. It is not the library itself.
class RecreatedMongoLock final : public MongoLockPeer {
 public:
  using Json = nlohmann::json;

  /// @param skew of its clock
  RecreatedMongoLock(const std::string& uri, std::string database,
                     std::chrono::milliseconds skew = {})
      : server_(uri), database_(std::move(database)), skew_(skew) {}

  /// As its structs are decoded: names that they lack are skipped. @throws std::runtime_error
  static void ReadStrictly(const Json& doc) {
    const auto check = [](bool good, const char* what) {
      if (!good) throw std::runtime_error(std::string("error decoding key ") + what);
    };
    const auto check_lock = [&](const Json& lock) {
      for (const char* const text : {"lockId", "owner", "host", "comment"}) {
        check(!lock.contains(text) || lock[text].is_null() || lock[text].is_string(), text);
      }
      for (const char* const date : {"createdAt", "renewedAt", "expiresAt"}) {
        check(!lock.contains(date) || lock[date].is_null() || lock[date].contains("$date"), date);
      }
      check(!lock.contains("acquired") || lock["acquired"].is_boolean(), "acquired");
      check(!lock.contains("_id") || lock["_id"].contains("$oid"), "_id");
    };
    check(doc.at("resource").is_string(), "resource");
    check_lock(doc.at("exclusive"));
    const Json& count = doc.at("shared").at("count");
    check(count.contains("$numberInt") || count.contains("$numberLong"), "count");
    for (const Json& lock : doc.at("shared").at("locks")) check_lock(lock);
  }

 private:
  std::string Ask(const Json& call) override {
    const std::string what = call.at("Do");
    try {
      if (what == "indexes") return CreateIndexesOfTheirs();
      if (what == "xlock") return TakeExclusively(call);
      if (what == "slock") return TakeShared(call);
      if (what == "renew") return RenewAll(call.at("Id"), call.at("Ttl"));
      if (what == "unlock") return Told(UnlockAll(call.at("Id")));
      if (what == "purge") return PurgeAll();
      return Told(Locks([name = call.at("Name").get<std::string>()](const Lock& lock) {
        return lock.name == name;
      }));
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      return text.find("E11000") != text.npos ? "locked" : "error " + text;
    }
  }

  struct Lock {
    std::string type, name, id, owner, host;
    std::int64_t ends = 0;  ///< 0: never.
  };
  using Locked = std::vector<Lock>;

  [[nodiscard]] std::int64_t Now() const {
    const auto now = std::chrono::system_clock::now().time_since_epoch() + skew_;
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
  static Json Date(std::int64_t ms) { return {{"$date", {{"$numberLong", std::to_string(ms)}}}}; }
  static Json Int(int n) { return {{"$numberInt", std::to_string(n)}}; }
  [[nodiscard]] Json NewLock(const Json& call) const {
    bson_oid_t oid;
    char hex[25];
    bson_oid_init(&oid, nullptr);
    bson_oid_to_string(&oid, hex);
    const unsigned ttl = call.at("Ttl");
    return {{"lockId", call.at("Id")},
            {"owner", call.contains("Owner") ? call.at("Owner") : Json()},
            {"host", nullptr},
            {"comment", nullptr},
            {"createdAt", Date(Now())},
            {"renewedAt", nullptr},
            {"expiresAt", ttl == 0 ? Json() : Date(Now() + std::int64_t{1000} * ttl)},
            {"acquired", true},
            {"_id", {{"$oid", hex}}}};
  }
  Json Run(const Json& command) {
    Json reply;
    server_.Run(database_, DocOf(command),
                [&](const bson_t& doc) { reply = Json::parse(mongo_docs_test::Canonical(doc)); });
    return reply;
  }
  static mongodb::Doc DocOf(const Json& json) {
    mongodb::Doc doc;
    // The command's name comes first.
    Json first = Json::object(), rest = json;
    for (const char* const verb : {"findAndModify", "find", "createIndexes"}) {
      if (!json.contains(verb)) continue;
      first[verb] = json[verb];
      rest.erase(verb);
    }
    bson_concat(doc.get(), mongo_docs_test::Parse(first.dump()).get());
    bson_concat(doc.get(), mongo_docs_test::Parse(rest.dump()).get());
    return doc;
  }
  /// False: nothing matched.
  bool Modify(const Json& query, const Json& update, bool upsert = false) {
    const Json reply = Run({{"findAndModify", "locks"},
                            {"query", query},
                            {"update", update},
                            {"upsert", upsert},
                            {"new", true}});
    return reply.at("value").is_object();
  }

  std::string CreateIndexesOfTheirs() {
    Json indexes = Json::array();
    indexes.push_back(
        {{"key", {{"resource", 1}}}, {"name", "resource_1"}, {"unique", true}, {"sparse", true}});
    for (const std::string field : {"exclusive.lockId", "exclusive.expiresAt",
                                    "shared.locks.lockId", "shared.locks.expiresAt"}) {
      indexes.push_back({{"key", {{field, 1}}}, {"name", field + "_1"}});
    }
    Run({{"createIndexes", "locks"}, {"indexes", indexes}});
    return "done 0";
  }
  std::string TakeExclusively(const Json& call) {
    const Json query = {
        {"resource", call.at("Name")},
        {"$or",
         {{{"exclusive.acquired", false}}, {{"exclusive.expiresAt", {{"$lte", Date(Now())}}}}}},
        {"shared.count", 0}};
    Modify(query,
           {{"$set",
             {{"resource", call.at("Name")},
              {"exclusive", NewLock(call)},
              {"shared", {{"count", {{"$numberLong", "0"}}}, {"locks", Json::array()}}}}}},
           true);
    return "done 0";
  }
  std::string TakeShared(const Json& call) {
    Json query = {{"resource", call.at("Name")},
                  {"exclusive.acquired", false},
                  {"shared.locks.lockId", {{"$ne", call.at("Id")}}}};
    if (call.at("Max") >= 0) query["shared.count"] = {{"$lt", call.at("Max")}};
    Modify(query,
           {{"$inc", {{"shared.count", Int(1)}}}, {"$push", {{"shared.locks", NewLock(call)}}}},
           true);
    return "done 0";
  }
  template <class Wanted>
  Locked Locks(const Wanted& wanted) {
    Locked found;
    const Json reply = Run({{"find", "locks"}, {"batchSize", 10'000}});
    for (const Json& doc : reply.at("cursor").at("firstBatch")) {
      ReadStrictly(doc);
      const auto add = [&](const char* type, const Json& lock) {
        const auto text = [&](const char* field) {
          return lock.contains(field) && lock[field].is_string() ? lock[field].get<std::string>()
                                                                 : "";
        };
        Lock one{type, doc["resource"], text("lockId"), text("owner"), text("host")};
        if (lock["expiresAt"].is_object()) {
          one.ends = std::stoll(lock["expiresAt"]["$date"]["$numberLong"].get<std::string>());
        }
        if (wanted(one)) found.push_back(std::move(one));
      };
      if (doc["exclusive"].value("acquired", false)) add("exclusive", doc["exclusive"]);
      for (const Json& lock : doc["shared"]["locks"]) add("shared", lock);
    }
    return found;
  }
  Locked LocksOf(const std::string& id) {
    return Locks([&](const Lock& lock) { return lock.id == id; });
  }
  static std::string Told(const Locked& locks) {
    std::string text = "done " + std::to_string(locks.size());
    for (const Lock& lock : locks) {
      text += " " + lock.type + "/" + lock.id + "/" + lock.owner + "/" + lock.host;
    }
    return text;
  }
  std::string RenewAll(const std::string& id, int ttl) {
    const Locked locks = LocksOf(id);
    if (locks.empty()) return "none";
    const Json later = {{"$gt", Date(Now() + 1000)}};
    const Json end = Date(Now() + std::int64_t{1000} * ttl);
    for (const Lock& lock : locks) {
      const bool exclusive = lock.type == "exclusive";
      Json query = {{"resource", lock.name}};
      const std::string place = exclusive ? "exclusive." : "shared.locks.$.";
      if (exclusive) {
        query["exclusive.lockId"] = id;
        query["exclusive.expiresAt"] = later;
      } else {
        query["shared.locks"] = {{"$elemMatch", {{"lockId", id}, {"expiresAt", later}}}};
      }
      const Json set = {{place + "expiresAt", end}, {place + "renewedAt", Date(Now())}};
      if (!Modify(query, {{"$set", set}})) return "none";
    }
    return Told(locks);
  }
  Locked UnlockAll(const std::string& id) {
    const Locked locks = LocksOf(id);
    for (const Lock& lock : locks) {
      if (lock.type == "shared") {
        Modify({{"resource", lock.name}, {"shared.locks.lockId", id}},
               {{"$inc", {{"shared.count", Int(-1)}}},
                {"$pull", {{"shared.locks", {{"lockId", id}}}}}});
        continue;
      }
      Json blank = {{"acquired", false}};
      for (const char* const field :
           {"lockId", "owner", "host", "comment", "createdAt", "renewedAt", "expiresAt"}) {
        blank[field] = nullptr;
      }
      Modify({{"resource", lock.name}, {"exclusive.lockId", id}},
             {{"$set", {{"exclusive", blank}}}});
    }
    return locks;
  }
  std::string PurgeAll() {
    Locked all;
    const std::int64_t now = Now();
    for (const Lock& over : Locks([&](const Lock& l) { return l.ends != 0 && l.ends < now; })) {
      for (const Lock& lock : UnlockAll(over.id)) all.push_back(lock);
    }
    return Told(all);
  }

  RawServer server_;
  const std::string database_;
  const std::chrono::milliseconds skew_;
};

}  // namespace doclock::mongo_test
