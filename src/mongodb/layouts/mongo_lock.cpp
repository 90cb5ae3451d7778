#include "mongodb/layouts/mongo_lock.h"

#include <algorithm>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "mongodb/layouts/layout_parts.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_change.h"
#include "mongodb/protocol/stored_lock.h"
#include "rules/shares.h"

namespace doclock::mongodb {
namespace {

using rules::LockState;
using rules::Share;
using std::chrono::milliseconds;

/// How far a clock of theirs may be from the server's.
constexpr milliseconds kMargin{1000};

constexpr const char* kExclusive = "exclusive";
constexpr const char* kShared = "shared";

std::string CommentOf(std::int64_t pid, std::int64_t fence) {
  return "doclock, process " + std::to_string(pid) + ", fence " + std::to_string(fence);
}

struct Comment {
  std::int64_t pid = 0, fence = 0;
};
/// Nothing: the lock is not ours.
std::optional<Comment> CommentIn(const bson_t& lock) {
  const std::string text = TextAt(lock, "comment");
  std::istringstream words(text);
  std::string word;
  char comma;
  Comment found;
  words >> word >> word >> found.pid >> comma >> word >> found.fence;
  const bool ours = CommentOf(found.pid, found.fence) == text && found.fence < kHighestVersion;
  return ours ? std::optional(found) : std::nullopt;
}

/// How much later than its lease it is stored to end.
milliseconds MarginOf(const bson_t& lock) { return CommentIn(lock) ? kMargin : -kMargin; }

/// Theirs may be any text. One that is no UUID as doclock writes it is shown as one made of it.
Uuid IdOf(const std::string& text) {
  try {
    const Uuid id = boost::uuids::string_generator{}(text);
    if (boost::uuids::to_string(id) == text && !id.is_nil() && id != kSharedLockId) return id;
  } catch (const std::runtime_error&) {
  }
  return boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(text);
}

bool HasType(const bson_t& doc, const char* field, bson_type_t type, bool or_nothing = false) {
  bson_iter_t at;
  if (!FindField(doc, field, at)) return or_nothing;
  return bson_iter_type(&at) == type || (or_nothing && bson_iter_type(&at) == BSON_TYPE_NULL);
}

/// The first field of a lock that has another type than they write; null: none.
const char* BadFieldOf(const bson_t& lock) {
  for (const char* const field : {"owner", "host", "comment"}) {
    if (!HasType(lock, field, BSON_TYPE_UTF8, true)) return field;
  }
  for (const char* const field : {"renewedAt", "expiresAt"}) {
    if (!HasType(lock, field, BSON_TYPE_DATE_TIME, true)) return field;
  }
  if (!HasType(lock, "createdAt", BSON_TYPE_DATE_TIME)) return "createdAt";
  return HasType(lock, "lockId", BSON_TYPE_UTF8) ? nullptr : "lockId";
}

/// An exclusive lock is read as a share is. @return BadFieldOf
const char* ReadLock(const bson_t& lock, std::int64_t now, Share& share) {
  if (const char* const bad = BadFieldOf(lock)) return bad;
  const std::optional<Comment> ours = CommentIn(lock);
  share.id = IdOf(TextAt(lock, "lockId"));
  share.granted = SeenFrom(now, DateAt(lock, "createdAt"));
  share.owner = std::make_shared<const LockHolder>(
      LockHolder{TextAt(lock, "owner"), TextAt(lock, "host"), ours ? ours->pid : 0});
  if (ours) share.fence = ours->fence;
  const bool ends = HasType(lock, "expiresAt", BSON_TYPE_DATE_TIME);
  share.lease = ends ? LeaseUntil(SeenFrom(now, DateAt(lock, "expiresAt")) - MarginOf(lock))
                     : rules::Lease{kLookedAt, milliseconds(kLongestTimeMs)};
  return nullptr;
}

bool IsAcquired(const bson_t& doc) {
  bson_t exclusive;
  return FindDocument(doc, kExclusive, exclusive) && FlagAt(exclusive, "acquired");
}

/// Shows the locks of a document, until `visit` returns false.
template <class Visit>
void ForEachLock(const bson_t& doc, const Visit& visit) {
  bson_t part;
  if (IsAcquired(doc) && FindDocument(doc, kExclusive, part)) visit(part);
  if (!FindDocument(doc, kShared, part)) return;
  ForEachItem(part, "locks", [&](const bson_iter_t& item) {
    bson_t lock;
    return visit(DocumentAt(item, lock) ? lock : part);  // which is none
  });
}

/// What is wrong with a document besides its locks; null: nothing.
const char* BadPart(const bson_t& doc) {
  bson_t exclusive, shared;
  bson_iter_t count;
  if (!FindDocument(doc, kExclusive, exclusive)) return kExclusive;
  if (!HasType(exclusive, "acquired", BSON_TYPE_BOOL)) return "exclusive.acquired";
  if (!FindDocument(doc, kShared, shared)) return kShared;
  if (!HasType(shared, "locks", BSON_TYPE_ARRAY)) return "shared.locks";
  if (!FindField(shared, "count", count) ||
      bson_iter_as_int64(&count) != static_cast<std::int64_t>(CountIn(shared, "locks"))) {
    return "shared.count";
  }
  return IsAcquired(doc) && CountIn(shared, "locks") > 0 ? "exclusive and shared" : nullptr;
}

/// The lock of this id, as it is stored.
Doc StoredOf(const bson_t& doc, const Uuid& id) {
  Doc found;
  ForEachLock(doc, [&](const bson_t& lock) {
    if (IdOf(TextAt(lock, "lockId")) == id) bson_concat(found.get(), &lock);
    return found.empty();
  });
  return found;
}

/// The shares, or the exclusive lock as if it was one.
std::vector<Share> LocksIn(const LockState& lock) {
  if (!lock.HasLockId() || lock.IsShared()) return lock.shares;
  return {{lock.lock_id, lock.granted, lock.lease, lock.owner, {}, lock.version}};
}

bson_value_t NewObjectId() {
  bson_value_t value{};
  value.value_type = BSON_TYPE_OID;
  bson_oid_init(&value.value.v_oid, nullptr);
  return value;
}

/// A lock that nobody has.
Doc Blank() {
  Doc lock;
  for (const char* const field :
       {"lockId", "owner", "host", "comment", "createdAt", "renewedAt", "expiresAt"}) {
    lock.AddNull(field);
  }
  return std::move(lock.Add("acquired", false));
}

Doc NewBlank() { return std::move(Blank().Add("_id", NewObjectId())); }

Doc NoShares() {
  Doc shared;
  shared.Add("count", std::int64_t{0}).AddArray("locks", Doc());
  return shared;
}

/// In place of what stands there, of which nothing is kept.
Doc InPlace(const Doc& value) { return Call("$mergeObjects", value); }

void AddText(Doc& lock, const char* field, const std::string& text) {
  text.empty() ? lock.AddNull(field) : lock.Add(field, Doc::Of("$literal", text));
}

Doc Granted(const Share& share) {
  const LockHolder holder = share.owner ? *share.owner : LockHolder{};
  Doc lock = Doc::Of("lockId", boost::uuids::to_string(share.id));
  AddText(lock, "owner", holder.name);
  AddText(lock, "host", holder.host);
  lock.Add("comment", CommentOf(holder.pid, share.fence)).Add("createdAt", "$$NOW");
  lock.AddNull("renewedAt").Add("expiresAt", AfterNow(share.lease.ttl + kMargin));
  lock.Add("acquired", true).Add("_id", NewObjectId());
  return InPlace(lock);
}

/// Never shorter than it is.
template <class Lock, class End>
Doc Renewed(const Lock& lock, const End& end, milliseconds length) {
  Doc fields;
  fields.Add("expiresAt", Call("$max", end, AfterNow(length))).Add("renewedAt", "$$NOW");
  return Call("$mergeObjects", lock, fields);
}

Doc LockOf(const bson_t& seen, const std::vector<Share>& before, const Share& share) {
  const auto was = std::find_if(before.begin(), before.end(),
                                [&](const Share& one) { return one.id == share.id; });
  if (was == before.end()) return Granted(share);
  const Doc stored = StoredOf(seen, share.id);
  Doc literal = Doc::Of("$literal", stored);
  if (was->lease == share.lease) return literal;
  return Renewed(literal, DateOf(DateAt(*stored.get(), "expiresAt")),
                 share.lease.ttl + MarginOf(*stored.get()));
}

/// A renewal does not revive.
template <class End>
Doc IsLive(const End& end) {
  return Call("$gt", end, AfterNow(kMargin));
}

}  // namespace

const Turns& MongoLockLayout::turns() const noexcept {
  // Their callers pause as they like: one that asks once a second gets its turn.
  static constexpr Turns kTurns{milliseconds(2000), milliseconds(1200)};
  return kTurns;
}

LockState MongoLockLayout::Read(const bson_t& doc, std::int64_t now, std::string& bad_field) const {
  LockState lock;
  std::vector<Share> locks;
  const char* bad = BadPart(doc);
  bad_field = bad == nullptr ? "" : bad;
  if (bad != nullptr) return lock;
  const bool exclusive = IsAcquired(doc);
  ForEachLock(doc, [&](const bson_t& one) {
    bad = ReadLock(one, now, locks.emplace_back());
    lock.version = std::max(lock.version, locks.back().fence);
    return bad == nullptr;
  });
  if (bad != nullptr) {
    bad_field = std::string(exclusive ? kExclusive : "shared.locks") + "." + bad;
  } else if (exclusive) {
    const Share& one = locks.front();
    lock.lock_id = one.id;
    lock.fence = one.fence;
    lock.granted = one.granted;
    lock.lease = one.lease;
    lock.owner = one.owner;
  } else if (!locks.empty()) {
    lock.lock_id = kSharedLockId;
    lock.shares = std::move(locks);
    rules::Cover(lock, kLookedAt);
  }
  return lock;
}

Doc MongoLockLayout::Vacant() const {
  Doc fields;
  fields.Add(kExclusive, NewBlank()).Add(kShared, NoShares());
  return fields;
}

void MongoLockLayout::AddLook(Doc& command) const {
  // A document that is being made has no _id yet.
  const Doc is_new = Call("$eq", Doc::Of("$type", "$_id"), "missing");
  const Doc is_blank = And(Call("$eq", "$exclusive.acquired", false),
                           Call("$eq", Doc::Of("$type", "$exclusive._id"), "missing"));
  const Doc named = Call("$mergeObjects", "$exclusive", Doc::Of("_id", NewObjectId()));
  Doc set;
  set.Add(kExclusive,
          Conditional(is_new, InPlace(NewBlank()), Conditional(is_blank, named, "$exclusive")));
  set.Add(kShared, Conditional(is_new, InPlace(NoShares()), "$shared"));
  command.AddArray("update", Array().Add(SetStage(set)).doc());
}

Statement MongoLockLayout::Change(const Key& key, const bson_t& seen, const LockState& was,
                                  const LockState& now) const {
  Doc guard = ByKey(*this, key);
  AddAsSeen(guard, kExclusive, seen);
  AddAsSeen(guard, kShared, seen);
  const std::vector<Share> before = LocksIn(was);
  Array shares;
  Doc exclusive = InPlace(NewBlank());
  for (const Share& share : LocksIn(now)) {
    Doc lock = LockOf(seen, before, share);
    if (now.IsShared()) shares.Add(lock);
    if (!now.IsShared()) exclusive = std::move(lock);
  }
  Doc shared, set;
  shared.Add("count", static_cast<std::int64_t>(shares.size())).AddArray("locks", shares.doc());
  set.Add(kExclusive, exclusive).Add(kShared, InPlace(shared));
  return {Verb::kUpdate, StageOn(guard, SetStage(set))};
}

Doc MongoLockLayout::Renewal(const RenewOp& op) const {
  const std::string id = boost::uuids::to_string(op.lock_id);
  const milliseconds length = op.ttl + kMargin;
  Doc filter = ByKey(*this, *op.key), set;
  if (op.mode == LockMode::kExclusive) {
    filter.Add("exclusive.lockId", Equals(id)).Add("exclusive.expiresAt", Doc::Of("$type", "date"));
    filter.Add("$expr", IsLive("$exclusive.expiresAt"));
    set.Add(kExclusive, Renewed("$exclusive", "$exclusive.expiresAt", length));
  } else {
    const Doc is_mine = Call("$eq", "$$this.lockId", id);
    Doc mine = Doc::Of("lockId", Equals(id));
    mine.Add("expiresAt", Doc::Of("$type", "date"));
    filter.Add("shared.locks", Doc::Of("$elemMatch", mine));
    filter.Add(
        "$expr",
        Doc::Of("$anyElementTrue",
                Array().Add(Mapped("$shared.locks", And(is_mine, IsLive("$$this.expiresAt"))))));
    set.Add("shared.locks",
            Mapped("$shared.locks",
                   Conditional(is_mine, Renewed("$$this", "$$this.expiresAt", length), "$$this")));
  }
  return StageOn(filter, SetStage(set));
}

Statement MongoLockLayout::Release(const WriteOp& op) const {
  const std::string id = boost::uuids::to_string(op.lock_id);
  Doc filter = ByKey(*this, *op.key), update, statement;
  if (op.mode == LockMode::kExclusive) {
    filter.Add("exclusive.lockId", Equals(id));
    update.Add("$set", Doc::Of(kExclusive, Blank()));
  } else {
    filter.Add("shared.locks.lockId", Equals(id));
    update.Add("$inc", Doc::Of("shared.count", -1));
    update.Add("$pull", Doc::Of("shared.locks", Doc::Of("lockId", Equals(id))));
  }
  statement.Add("q", filter).Add("u", update);
  return {Verb::kUpdate, std::move(statement)};
}

Doc MongoLockLayout::Index() const {
  Doc index;
  index.Add("key", Doc::Of("resource", 1)).Add("name", "resource_1");
  index.Add("unique", true).Add("sparse", true);
  return index;
}

Array MongoLockLayout::Indexes() const {
  Array indexes;
  indexes.Add(Index());
  for (const std::string field : {"exclusive.lockId", "exclusive.expiresAt", "shared.locks.lockId",
                                  "shared.locks.expiresAt"}) {
    Doc index = Doc::Of("key", Doc::Of(field, 1));
    index.Add("name", field + "_1");
    indexes.Add(index);
  }
  return indexes;
}

}  // namespace doclock::mongodb
