#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>

#include "mongodb/layouts/layout_parts.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

constexpr const char* kLockId = "lockId";
constexpr const char* kAcquired = "acquiredAt";
constexpr const char* kExpires = "expiresAt";
constexpr const char* kToken = "fencingToken";
constexpr std::array kFields = {
    LayoutField{kLockId, BSON_TYPE_UTF8}, LayoutField{kAcquired, BSON_TYPE_DATE_TIME},
    LayoutField{kExpires, BSON_TYPE_DATE_TIME}, LayoutField{kToken, BSON_TYPE_INT64}};

constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

std::string BadField(const bson_t& doc) {
  std::string field = FirstBadField(doc, kFields);
  if (!field.empty()) return field;
  bson_iter_t token;
  FindField(doc, kToken, token);
  // After the last one, and that of a grant now, there is no higher one.
  if (bson_iter_int64(&token) < 0 || bson_iter_int64(&token) >= kLast - 1) return kToken;
  return HolderIn(TextAt(doc, kLockId)) ? std::string() : kLockId;
}

/// Never shorter than it is.
Doc Renewed(milliseconds ttl) {
  return Doc::Of("$set", Doc::Of(kExpires, Call("$max", "$expiresAt", AfterNow(ttl))));
}

/// A renewal does not revive.
void AddLive(Doc& filter) { filter.Add("$expr", Call("$gt", "$expiresAt", "$$NOW")); }

Doc HeldBy(const Key& key, const Uuid& id) {
  Doc filter;
  filter.Add("_id", Equals(key)).Add(kLockId, Equals(HexOf(id)));
  return filter;
}

/// DistributedLock.MongoDB (.NET). A lock is a document of five fields: _id (the name), lockId (32
/// hexadecimal digits), acquiredAt, expiresAt, fencingToken (int64). It is free where expiresAt is
/// not after the server's time; a release deletes it. Only the server's clock decides.
/// Its waiters pause for 10 to 800 ms, and their command and the release take some time.
///
/// The other library's token begins at 1 with every new document. That of a grant by doclock is
/// higher than all before it, and goes on rising over deletions (see Layout).
class DistributedLockLayout final : public Layout {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "distributedlock"; }
  [[nodiscard]] const char* library() const noexcept override { return "DistributedLock.MongoDB"; }

  [[nodiscard]] rules::LockState Read(const bson_t& doc, std::int64_t now,
                                      std::string& bad_field) const override {
    rules::LockState lock;
    bad_field = BadField(doc);
    if (!bad_field.empty()) return lock;
    bson_iter_t token;
    FindField(doc, kToken, token);
    lock.version = lock.fence = bson_iter_int64(&token);
    const std::int64_t expires = DateAt(doc, kExpires);
    if (expires == 0) return lock;  // Vacant
    lock.lock_id = *HolderIn(TextAt(doc, kLockId));
    lock.granted = SeenFrom(now, DateAt(doc, kAcquired));
    lock.lease = LeaseUntil(SeenFrom(now, expires));
    return lock;
  }

  [[nodiscard]] Doc Vacant() const override {
    Doc fields;
    fields.Add(kLockId, HexOf(NewUuid()));
    fields.Add(kAcquired, DateOf(0)).Add(kExpires, DateOf(0)).Add(kToken, std::int64_t{0});
    return fields;
  }

  [[nodiscard]] Statement Change(const Key& key, const bson_t& seen, const rules::LockState& was,
                                 const rules::LockState& now) const override {
    Doc guard = GuardOf(key, seen, kFields);
    if (!now.HasLockId()) return {Verb::kDelete, DeleteStatement(guard)};
    if (now.lock_id == was.lock_id) {
      AddLive(guard);
      return {Verb::kUpdate, StageOn(guard, Renewed(now.lease.ttl))};
    }
    Doc fields;
    fields.Add(kLockId, HexOf(now.lock_id)).Add(kAcquired, "$$NOW");
    fields.Add(kExpires, AfterNow(now.lease.ttl)).Add(kToken, now.version);
    return {Verb::kUpdate, StageOn(guard, Doc::Of("$set", fields))};
  }

  [[nodiscard]] Doc Renewal(const RenewOp& op) const override {
    Doc filter = HeldBy(*op.key, op.request.lock_id);
    filter.Add(kExpires, Doc::Of("$type", "date"));
    AddLive(filter);
    return StageOn(filter, Renewed(op.request.ttl));
  }

  [[nodiscard]] Statement Release(const WriteOp& op) const override {
    Doc filter = HeldBy(*op.key, op.request.lock_id);
    if (op.request.expected != kAnyVersion) filter.Add(kToken, Equals(op.request.expected));
    return {Verb::kDelete, DeleteStatement(filter)};
  }

  [[nodiscard]] Doc Index() const override {
    Doc index;
    index.Add("key", Doc::Of(kExpires, 1)).Add("name", "expiresAt_ttl");
    index.Add("expireAfterSeconds", 0);
    return index;
  }
};

}  // namespace

std::unique_ptr<const Layout> DistributedLock() {
  return std::make_unique<DistributedLockLayout>();
}

}  // namespace doclock::mongodb
