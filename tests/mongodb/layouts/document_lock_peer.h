#pragma once

#include <cstdlib>
#include <string>

#include "mongodb/layouts/lock_peer.h"

namespace doclock::mongo_test {

/// MongoLocks at f14c69d (.NET): DummyRepository over Dummy(Id, Value, LockId, LockTime). A name is
/// the text of a UUID, and the ttl of a lock is the repository's lockMaxDuration.
class DocumentLockPeer final : public LockPeer {
 public:
  using LockPeer::LockPeer;

  /// LockAsync(id, null), of an entity that is there.
  std::optional<Held> TryAcquire(const std::string& name, std::chrono::milliseconds ttl) override {
    const std::int64_t now = Now();
    const Uuid mine = NewUuid();
    mongodb::Doc query = ById(name), fields, command;
    fields.Add("LockId", mine).Add("LockTime", Date(now));
    query.Add("$or", mongodb::Array()
                         .Add(mongodb::Doc::OfNull("LockId"))
                         .Add(mongodb::Doc::Of("LockTime",
                                               mongodb::Doc::Of("$lt", Date(now - ttl.count())))));
    command.Add("findAndModify", collection()).Add("query", query);
    command.Add("update", mongodb::Doc::Of("$set", fields)).Add("upsert", true).Add("new", true);
    try {
      Run(command, [&](const bson_t& reply) {
        bson_t value;
        if (!mongodb::FindDocument(reply, "value", value)) throw FormatException("no document");
        ReadStrictly(value);
        value_ = mongodb::TextAt(value, "Value");
      });
    } catch (const FormatException&) {
      throw;
    } catch (const std::runtime_error& error) {
      if (std::string_view(error.what()).find("E11000") == std::string_view::npos) throw;
      return std::nullopt;  // a LockException: it is locked
    }
    return Held{to_string(mine)};
  }
  /// It renews nothing. Is its lock still there?
  bool Renew(const std::string& name, const Held& held, std::chrono::milliseconds) override {
    mongodb::Doc statement;
    statement.Add("q", WithLock(name, held));
    statement.Add("u", mongodb::Doc::Of("$set", mongodb::Doc::Of("LockId", IdOf(held.lock_id))));
    return Count("update", "updates", statement) == 1;
  }
  /// ReleaseLock, of the entity with a Value that counts releases. A LockException is told.
  void Release(const std::string& name, const Held& held) override {
    mongodb::Doc fields, statement;
    fields.Add("Value", std::to_string(std::atoll(value_.c_str()) + 1));
    fields.AddNull("LockId").AddNull("LockTime");
    statement.Add("q", WithLock(name, held)).Add("u", mongodb::Doc::Of("$set", fields));
    released_ = Count("update", "updates", statement) == 1;
  }
  [[nodiscard]] bool released() const noexcept { return released_; }
  void MakeIndexes() override {}
  /// Its callers try again as they like.
  std::chrono::milliseconds Pause() override { return std::chrono::milliseconds(50); }
  /// Dummy: all members, and no other; the lock's may be null or missing.
  void ReadStrictly(const bson_t& doc) const override {
    bson_iter_t at;
    bson_iter_init(&at, &doc);
    bool has_id = false, has_value = false;
    while (bson_iter_next(&at)) {
      const std::string_view name = bson_iter_key(&at);
      const bson_type_t type = bson_iter_type(&at);
      const bool is_null = type == BSON_TYPE_NULL;
      const auto check = [&](bool fits) {
        if (!fits) throw FormatException("Cannot deserialize '" + std::string(name) + "'");
        return true;
      };
      if (name == "_id") {
        has_id = check(IsGuid(at));
      } else if (name == "Value") {
        has_value = check(is_null || type == BSON_TYPE_UTF8);
      } else if (name == "LockId") {
        check(is_null || IsGuid(at));
      } else if (name == "LockTime") {
        check(is_null || type == BSON_TYPE_DATE_TIME);
      } else {
        throw FormatException("Element '" + std::string(name) + "' does not match any property");
      }
    }
    if (!has_id || !has_value) throw FormatException("No matching creator found");
  }
  [[nodiscard]] std::int64_t FenceIn(const bson_t&) const override { return 0; }
  [[nodiscard]] bool IsFree(const bson_t* doc) const override {
    bson_iter_t id, time;
    return doc != nullptr && mongodb::FindField(*doc, "LockId", id) && BSON_ITER_HOLDS_NULL(&id) &&
           mongodb::FindField(*doc, "LockTime", time) && BSON_ITER_HOLDS_NULL(&time);
  }
  /// What an application has inserted.
  void MakeDocument(const std::string& name) override {
    mongodb::Doc fields, statement;
    fields.Add("Value", "0").AddNull("LockId").AddNull("LockTime");
    statement.Add("q", ById(name)).Add("u", mongodb::Doc::Of("$setOnInsert", fields));
    statement.Add("upsert", true);
    Count("update", "updates", statement);
  }

 private:
  static std::int64_t Now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  static bson_value_t Date(std::int64_t ms) {
    bson_value_t value{};
    value.value_type = BSON_TYPE_DATE_TIME;
    value.value.v_datetime = ms;
    return value;
  }
  static bool IsGuid(const bson_iter_t& at) {
    if (!BSON_ITER_HOLDS_BINARY(&at)) return false;
    bson_subtype_t subtype;
    std::uint32_t size;
    const std::uint8_t* bytes;
    bson_iter_binary(&at, &subtype, &size, &bytes);
    return subtype == BSON_SUBTYPE_UUID && size == 16;
  }
  static mongodb::Doc ById(const std::string& name) { return mongodb::Doc::Of("_id", IdOf(name)); }
  static mongodb::Doc WithLock(const std::string& name, const Held& held) {
    mongodb::Doc filter = ById(name);
    filter.Add("LockId", IdOf(held.lock_id));
    return filter;
  }

  std::string value_;
  bool released_ = false;
};

}  // namespace doclock::mongo_test
