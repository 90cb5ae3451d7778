#include "mongodb/layouts/pessimistic_lock.h"

#include <algorithm>
#include <array>
#include <boost/uuid/uuid_io.hpp>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "mongodb/layouts/layout_parts.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

constexpr const char* kOwnerId = "ownerId";
constexpr const char* kTtlMs = "ttlMs";
constexpr const char* kEnd = "expiresAt";
constexpr std::array kJavaFields = {LayoutField{kOwnerId, BSON_TYPE_UTF8},
                                    LayoutField{kTtlMs, BSON_TYPE_INT64},
                                    LayoutField{kEnd, BSON_TYPE_INT64}};

/// No fence is higher than the one before it.
constexpr std::int64_t kHighestFence = std::numeric_limits<std::int64_t>::max();

struct Owner {
  Uuid id{};
  std::int64_t fence = 0;  ///< 0: it is the other library's.
};

std::string TextOf(const Owner& owner) {
  std::string text = to_string(owner.id);
  if (owner.fence > 0) text += '/' + std::to_string(owner.fence);
  return text;
}

/// Nothing for what neither library writes.
std::optional<Owner> OwnerIn(const std::string& text) {
  const std::size_t end = std::min(text.find('/'), text.size());
  std::string hex = text.substr(0, end);
  std::erase(hex, '-');
  const std::optional<Uuid> id = HolderIn(hex);
  if (!id) return std::nullopt;
  Owner owner{*id};
  if (end < text.size()) {
    std::from_chars(text.data() + end + 1, text.data() + text.size(), owner.fence);
  }
  const bool same = owner.fence < kHighestFence && TextOf(owner) == text;
  return same ? std::optional(owner) : std::nullopt;
}

std::int64_t NumberAt(const bson_t& doc, const char* field) {
  bson_iter_t at;
  return FindField(doc, field, at) ? bson_iter_int64(&at) : 0;
}

std::string BadJavaField(const bson_t& doc) {
  std::string field = FirstBadField(doc, kJavaFields);
  if (!field.empty()) return field;
  if (NumberAt(doc, kTtlMs) < 0) return kTtlMs;
  return OwnerIn(TextAt(doc, kOwnerId)) ? std::string() : kOwnerId;
}

/// How much later than it says a lock is over: ours is stored to end later than it does.
milliseconds MarginOf(const Owner& owner) {
  return owner.fence > 0 ? -PessimisticLockLayout::kMargin : PessimisticLockLayout::kMargin;
}

/// The server's time and this.
Doc After(milliseconds time) { return Call("$add", Doc::Of("$toLong", "$$NOW"), time); }

/// A renewal does not revive. Equality is live.
void AddLive(Doc& filter, milliseconds margin) {
  filter.Add("$expr", Call("$gte", "$expiresAt", After(-margin)));
}

/// When a lease of this length ends, for the other library.
milliseconds EndOf(milliseconds ttl) { return ttl + PessimisticLockLayout::kMargin; }

/// Beats of the other library, of a holder that has lost the lock and does not know it, set
/// expiresAt to its estimate and this. If that is behind, the lock does not end before EndOf.
milliseconds BeatOf(milliseconds ttl) { return EndOf(ttl) + PessimisticLockLayout::kMargin; }

/// Neither is made shorter: the beat is as long as any renewal's.
Doc Lengthened(milliseconds ttl) {
  Doc fields;
  fields.Add(kTtlMs, Call("$max", "$ttlMs", BeatOf(ttl)));
  fields.Add(kEnd, Call("$max", "$expiresAt", After(EndOf(ttl))));
  return Doc::Of("$set", fields);
}

/// Whatever its fence.
Doc OwnedBy(const Key& key, const Uuid& id) {
  const std::string text = to_string(id);
  Doc range, filter;
  range.Add("$gte", text).Add("$lt", text + static_cast<char>('/' + 1));
  filter.Add("_id", Equals(key)).Add(kOwnerId, range);
  return filter;
}

}  // namespace

const Turns& PessimisticLockLayout::turns() const noexcept {
  // A waiter pauses for a thirtieth of its manager's ttl (5 s by default), and twice as long each
  // time, up to the ttl. Its first attempts are at 0, 0.17, 0.5, 1.17 and 2.5 s, each a little off.
  // Modulo 3.6 s none of the gaps between them is longer than 1.5 s. So one of them is made while
  // the lock is left free.
  static constexpr Turns kTurns{milliseconds(2000), milliseconds(1600)};
  return kTurns;
}

rules::LockState PessimisticLockLayout::Read(const bson_t& doc, std::int64_t now,
                                             std::string& bad_field) const {
  rules::LockState lock;
  bad_field = BadJavaField(doc);
  if (!bad_field.empty()) return lock;
  const std::int64_t expires = NumberAt(doc, kEnd);
  if (expires == 0) return lock;  // Vacant
  const Owner owner = *OwnerIn(TextAt(doc, kOwnerId));
  lock.lock_id = owner.id;
  lock.version = lock.fence = owner.fence;
  // When it was renewed last. That of the grant is not stored.
  const TimePoint end = SeenFrom(now, expires);
  const TimePoint renewed = end - (SeenFrom(0, NumberAt(doc, kTtlMs)) - kLookedAt);
  lock.granted = std::min(renewed + (owner.fence > 0 ? kMargin : milliseconds(0)), kLookedAt);
  // At that very time it is live.
  lock.lease = LeaseUntil(end + MarginOf(owner) + milliseconds(1));
  return lock;
}

Doc PessimisticLockLayout::Vacant() const {
  Doc fields;
  fields.Add(kOwnerId, TextOf({NewUuid()}));
  fields.Add(kTtlMs, std::int64_t{0}).Add(kEnd, std::int64_t{0});
  return fields;
}

Statement PessimisticLockLayout::Change(const Key& key, const bson_t& seen,
                                        const rules::LockState& was,
                                        const rules::LockState& now) const {
  Doc guard = GuardOf(key, seen, kJavaFields);
  if (!now.HasLockId()) return {Verb::kDelete, DeleteStatement(guard)};
  if (now.lock_id == was.lock_id) {
    AddLive(guard, MarginOf({was.lock_id, was.fence}));
    // What is left of theirs, with its margin, gets no other.
    const bool longer = was.fence > 0 || now.lease.ttl > was.lease.ttl;
    return {Verb::kUpdate, StageOn(guard, Lengthened(longer ? now.lease.ttl : milliseconds(0)))};
  }
  Doc fields;
  fields.Add(kOwnerId, TextOf({now.lock_id, now.version}));
  fields.Add(kTtlMs, BeatOf(now.lease.ttl)).Add(kEnd, After(EndOf(now.lease.ttl)));
  return {Verb::kUpdate, StageOn(guard, Doc::Of("$set", fields))};
}

Doc PessimisticLockLayout::Renewal(const RenewOp& op) const {
  Doc filter = OwnedBy(*op.key, op.request.lock_id);
  for (const char* const field : {kTtlMs, kEnd}) filter.Add(field, Doc::Of("$type", "long"));
  AddLive(filter, -kMargin);
  return StageOn(filter, Lengthened(op.request.ttl));
}

Statement PessimisticLockLayout::Release(const WriteOp& op) const {
  Doc filter = OwnedBy(*op.key, op.request.lock_id);
  if (op.request.expected != kAnyVersion) {
    filter = Doc::Of("_id", Equals(*op.key));
    filter.Add(kOwnerId, Equals(TextOf({op.request.lock_id, op.request.expected})));
  }
  return {Verb::kDelete, DeleteStatement(filter)};
}

Doc PessimisticLockLayout::Index() const {
  Doc index;
  index.Add("key", Doc::Of(kEnd, 1)).Add("name", "expiresAt_1");
  return index;
}

}  // namespace doclock::mongodb
