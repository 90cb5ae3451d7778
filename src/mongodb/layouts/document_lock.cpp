#include "mongodb/layouts/document_lock.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "mongodb/bson/bson.h"
#include "mongodb/layouts/layout_parts.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/statements.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

constexpr const char* kIdMember = "LockId";
constexpr const char* kTimeMember = "LockTime";

/// How long after theirs may take a lock it is live for ours: at the very end it is.
constexpr milliseconds kAfterTheirs = DocumentLockLayout::kMargin + milliseconds(1);

/// A class of theirs has no such members, and refuses each that it has not.
constexpr std::array kOurMembers = {"lockTtl", "lockVersion", "lockBorn", "lockReleased"};

/// Any date of the first decades: which one is random.
bson_value_t RandomDate() {
  constexpr std::uint64_t kBits = (std::uint64_t{1} << 40) - 1;
  const Uuid id = NewUuid();
  std::uint64_t number;
  std::memcpy(&number, id.begin(), sizeof(number));
  return DateOf(static_cast<std::int64_t>(number & kBits) + 1);
}

bool IsUuidAt(const bson_t& doc, const char* field) {
  bson_iter_t at;
  Uuid id;
  return FindField(doc, field, at) && ReadUuid(at, id) && !IsLegacyUuid(at);
}

const char* BadDocumentField(const bson_t& doc) {
  if (!IsUuidAt(doc, "_id")) return "_id";
  const bool is_free = HasType(doc, kIdMember, BSON_TYPE_NULL, true);
  if (!is_free && !IsUuidAt(doc, kIdMember)) return kIdMember;
  if (!HasType(doc, kTimeMember, BSON_TYPE_DATE_TIME, true)) return kTimeMember;
  for (const char* const ours : kOurMembers) {
    if (bson_has_field(&doc, ours)) return ours;
  }
  return nullptr;
}

Doc GuardOfBoth(Doc guard, const bson_t& seen) {
  AddAsSeen(guard, kIdMember, seen);
  AddAsSeen(guard, kTimeMember, seen);
  return guard;
}

Doc NoLock() {
  Doc fields;
  fields.AddNull(kIdMember).AddNull(kTimeMember);
  return fields;
}

}  // namespace

const LockFieldNames* DocumentLockLayout::beside_body() const noexcept {
  // Never destroyed: stores may be used while the process ends.
  static const auto* const kNames = [] {
    auto* const names = new LockFieldNames;
    names->id = kIdMember;
    names->time = kTimeMember;
    return names;
  }();
  return kNames;
}

Doc DocumentLockLayout::TimeOf(milliseconds left) const { return AfterNow(left - longest_); }

/// A renewal does not revive. Of a lock that theirs would take soon it cannot know that it is live.
/// One without a time does not end. See MayRenew.
void DocumentLockLayout::AddLive(Doc& filter) const {
  const Doc is_later =
      And(TypeIn(kTimeMember, {"date"}), Call("$gt", "$LockTime", TimeOf(kMargin)));
  filter.Add("$expr", Or(IsNothing(kTimeMember), is_later));
}

rules::LockState DocumentLockLayout::Read(const bson_t& doc, std::int64_t now,
                                          std::string& bad_field) const {
  rules::LockState lock;
  const char* const bad = BadDocumentField(doc);
  bson_iter_t at;
  if (bad != nullptr) bad_field = bad;
  if (bad != nullptr || !FindField(doc, kIdMember, at) || !ReadUuid(at, lock.lock_id)) return lock;
  if (lock.lock_id.is_nil() || lock.IsShared()) {
    bad_field = kIdMember;
    return lock;
  }
  const TimePoint time = SeenFrom(now, DateAt(doc, kTimeMember));
  lock.granted = std::min(time, kLookedAt);
  // A lock without a time does not end.
  lock.lease = HasType(doc, kTimeMember, BSON_TYPE_DATE_TIME)
                   ? LeaseUntil(time + longest_ + kAfterTheirs)
                   : rules::Lease{kLookedAt, milliseconds(kLongestTimeMs)};
  return lock;
}

void DocumentLockLayout::AddLook(Doc& command) const {
  Array is_unmarked;
  is_unmarked.Add(IsNothing(kIdMember)).Add(IsNothing(kTimeMember));
  for (const char* const ours : kOurMembers) is_unmarked.Add(TypeIn(ours, {"missing"}));
  const Doc time =
      Conditional(Doc::Of("$and", is_unmarked), Doc::Of("$literal", RandomDate()), "$LockTime");
  command.Add("update", Array().Add(SetStage(Doc::Of(kTimeMember, time))));
}

Statement DocumentLockLayout::Change(const Key& key, const bson_t& seen,
                                     const rules::LockState& was,
                                     const rules::LockState& now) const {
  Doc guard = GuardOfBoth(ByKey(*this, key), seen);
  if (!now.HasLockId()) return {Verb::kUpdate, StageOn(guard, SetStage(NoLock()))};
  const Doc end = TimeOf(now.lease.ttl + kMargin);
  Doc set;
  if (now.lock_id != was.lock_id) {
    set.Add(kIdMember, now.lock_id).Add(kTimeMember, end);
  } else {
    const bool writes = now.version != was.version;
    if (!writes) AddLive(guard);
    // Never shorter; and a write's is later than what it saw.
    const std::int64_t least = DateAt(seen, kTimeMember) + (writes ? 1 : 0);
    const bool ends = writes || HasType(seen, kTimeMember, BSON_TYPE_DATE_TIME);
    ends ? set.Add(kTimeMember, Call("$max", DateOf(least), end)) : set.AddNull(kTimeMember);
  }
  return {Verb::kUpdate, StageOn(guard, SetStage(set))};
}

bool DocumentLockLayout::MayRenew(const rules::LockState& lock) const {
  return lock.lease.End() > kLookedAt + kMargin + kAfterTheirs;
}

Doc DocumentLockLayout::Renewal(const RenewOp& op) const {
  Doc filter = ByKey(*this, *op.key);
  filter.Add(kIdMember, Equals(op.request.lock_id));
  AddLive(filter);
  const Doc end = Call("$max", "$LockTime", TimeOf(op.request.ttl + kMargin));
  const Doc time = Conditional(IsNothing(kTimeMember), "$LockTime", end);
  return StageOn(filter, SetStage(Doc::Of(kTimeMember, time)));
}

Statement DocumentLockLayout::Release(const WriteOp& op) const {
  Doc filter = ByKey(*this, *op.key);
  filter.Add(kIdMember, Equals(op.request.lock_id));
  return {Verb::kUpdate, StageOn(filter, SetStage(NoLock()))};
}

}  // namespace doclock::mongodb
