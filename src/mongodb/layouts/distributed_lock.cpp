#include "mongodb/layouts/distributed_lock.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_change.h"
#include "mongodb/protocol/stored_lock.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

constexpr const char* kLockId = "lockId";
constexpr const char* kAcquired = "acquiredAt";
constexpr const char* kExpires = "expiresAt";
constexpr const char* kToken = "fencingToken";
constexpr std::array kFields = {kLockId, kAcquired, kExpires, kToken};

/// No token is higher than the one before it.
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view kDigits = "0123456789abcdef";

std::string HexOf(const Uuid& id) {
  std::string text;
  for (const std::uint8_t byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

/// Nothing for what is none, or would be taken for something else than a holder's id.
std::optional<Uuid> IdIn(std::string_view text) {
  Uuid id{};
  if (text.size() != 2 * id.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == kDigits.npos) return std::nullopt;
    std::uint8_t& byte = id.begin()[i / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | digit);
  }
  if (id.is_nil() || id == kSharedLockId) return std::nullopt;
  return id;
}

bson_value_t DateOf(std::int64_t ms) {
  bson_value_t value{};
  value.value_type = BSON_TYPE_DATE_TIME;
  value.value.v_datetime = ms;
  return value;
}

/// A time as far from kLookedAt as that of a document is from the server's.
milliseconds Between(std::int64_t from, std::int64_t to) {
  const double away = static_cast<double>(to) - static_cast<double>(from);
  if (away > kLongestTimeMs) return milliseconds(kLongestTimeMs);
  if (away < -kLongestTimeMs) return milliseconds(-kLongestTimeMs);
  return milliseconds(to - from);
}

/// The first field that is none of theirs, is missing, or has another type than they write.
std::string BadField(const bson_t& doc) {
  bson_iter_t at;
  if (bson_iter_init(&at, &doc)) {
    while (bson_iter_next(&at)) {
      const std::string_view name = bson_iter_key(&at);
      if (name != "_id" && std::find(kFields.begin(), kFields.end(), name) == kFields.end()) {
        return std::string(name);
      }
    }
  }
  for (const char* const field : kFields) {
    const bson_type_t type = field == kLockId  ? BSON_TYPE_UTF8
                             : field == kToken ? BSON_TYPE_INT64
                                               : BSON_TYPE_DATE_TIME;
    if (!FindField(doc, field, at) || bson_iter_type(&at) != type) return field;
  }
  if (bson_iter_int64(&at) < 0 || bson_iter_int64(&at) == kLast) return kToken;
  return IdIn(TextAt(doc, kLockId)) ? std::string() : kLockId;
}

std::int64_t DateAt(const bson_t& doc, const char* field) {
  bson_iter_t at;
  return FindField(doc, field, at) ? bson_iter_date_time(&at) : 0;
}

Doc EndOf(milliseconds ttl) {
  Doc add;
  add.Add("startDate", "$$NOW").Add("unit", "millisecond").Add("amount", ttl);
  return Doc::Of("$dateAdd", add);
}

/// Never shorter than it is.
Doc Renewed(milliseconds ttl) {
  return Doc::Of("$set", Doc::Of(kExpires, Call("$max", "$expiresAt", EndOf(ttl))));
}

/// A renewal does not revive.
void AddLive(Doc& filter) { filter.Add("$expr", Call("$gt", "$expiresAt", "$$NOW")); }

Doc StageOn(const Doc& filter, const Doc& stage) {
  Doc statement;
  statement.Add("q", filter).AddArray("u", Array().Add(stage).doc());
  return statement;
}

Doc HeldBy(const Key& key, const Uuid& id) {
  Doc filter;
  filter.Add("_id", Equals(key)).Add(kLockId, Equals(HexOf(id)));
  return filter;
}

}  // namespace

const Turns& DistributedLockLayout::turns() const noexcept {
  // Its waiters pause for 10 to 800 ms, and their command and the release take some time.
  static constexpr Turns kTurns{milliseconds(2000), milliseconds(1200)};
  return kTurns;
}

rules::LockState DistributedLockLayout::Read(const bson_t& doc, std::int64_t now,
                                             std::string& bad_field) const {
  rules::LockState lock;
  bad_field = BadField(doc);
  if (!bad_field.empty()) return lock;
  bson_iter_t token;
  FindField(doc, kToken, token);
  lock.version = lock.fence = bson_iter_int64(&token);
  const std::int64_t expires = DateAt(doc, kExpires);
  if (expires == 0) return lock;  // Vacant
  lock.lock_id = *IdIn(TextAt(doc, kLockId));
  lock.granted = kLookedAt + Between(now, DateAt(doc, kAcquired));
  // The document does not tell how long a lease is, only when it ends.
  const milliseconds left = Between(now, expires);
  lock.lease.since = kLookedAt + std::min(left, milliseconds(0));
  lock.lease.ttl = std::max(left, milliseconds(0));
  return lock;
}

Doc DistributedLockLayout::Vacant() const {
  Doc fields;
  fields.Add(kLockId, HexOf(NewUuid()));
  fields.Add(kAcquired, DateOf(0)).Add(kExpires, DateOf(0)).Add(kToken, std::int64_t{0});
  return fields;
}

Statement DistributedLockLayout::Change(const Key& key, const bson_t& seen,
                                        const rules::LockState& was,
                                        const rules::LockState& now) const {
  Doc guard = Doc::Of("_id", Equals(key));
  for (const char* const field : kFields) AddAsSeen(guard, field, seen);
  if (!now.HasLockId()) return {Verb::kDelete, DeleteStatement(guard)};
  if (now.lock_id == was.lock_id) {
    AddLive(guard);
    return {Verb::kUpdate, StageOn(guard, Renewed(now.lease.ttl))};
  }
  Doc fields;
  fields.Add(kLockId, HexOf(now.lock_id)).Add(kAcquired, "$$NOW");
  fields.Add(kExpires, EndOf(now.lease.ttl)).Add(kToken, now.version);
  return {Verb::kUpdate, StageOn(guard, Doc::Of("$set", fields))};
}

Doc DistributedLockLayout::Renewal(const RenewOp& op) const {
  Doc filter = HeldBy(*op.key, op.lock_id);
  filter.Add(kExpires, Doc::Of("$type", "date"));
  AddLive(filter);
  return StageOn(filter, Renewed(op.ttl));
}

Statement DistributedLockLayout::Release(const WriteOp& op) const {
  Doc filter = HeldBy(*op.key, op.lock_id);
  if (op.expected != kAnyVersion) filter.Add(kToken, Equals(op.expected));
  return {Verb::kDelete, DeleteStatement(filter)};
}

Doc DistributedLockLayout::Index() const {
  Doc index;
  index.Add("key", Doc::Of(kExpires, 1)).Add("name", "expiresAt_ttl");
  index.Add("expireAfterSeconds", 0);
  return index;
}

}  // namespace doclock::mongodb
