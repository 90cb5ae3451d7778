#include "mongodb/statements/statements.h"

#include <algorithm>
#include <string>
#include <utility>

#include "mongodb/bson/bson.h"
#include "mongodb/statements/update.h"
#include "rules/rules.h"

namespace doclock::mongodb {

void AddAsSeen(Doc& filter, const std::string& field, const bson_t& seen) {
  bson_iter_t at;
  Doc same;
  if (FindField(seen, field, at)) {
    const bson_type_t type = bson_iter_type(&at);
    // The server compares nothing with undefined.
    if (type != BSON_TYPE_UNDEFINED) same.Add("$eq", *bson_iter_value(&at));
    same.Add("$type", TypeCode(type));
    if (type != BSON_TYPE_ARRAY) same = NoArray(std::move(same));
  } else {
    same.Add("$exists", false);
  }
  filter.Add(field, same);
}

namespace {

/// The id of an entry or a share, in its array; nil: it is none that this library writes.
Uuid IdOf(const bson_iter_t& item) {
  bson_t part;
  bson_iter_t at;
  Uuid id{};
  const bool ours = BSON_ITER_HOLDS_DOCUMENT(&item) && DocumentAt(item, part) &&
                    FindField(part, "id", at) && !IsLegacyUuid(at);
  if (ours) ReadUuid(at, id);
  return id;
}

template <class Parts>
bool Has(const Parts& parts, const Uuid& id) {
  return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.id == id; });
}

/// Is it one of `was`, and none of `now`?
template <class Parts>
bool Goes(const bson_iter_t& item, const Parts& was, const Parts& now) {
  const Uuid id = IdOf(item);
  return Has(was, id) && !Has(now, id);
}

/// What stays of an array. Of a foreign program's doing too, unless nothing else stays.
template <class Parts>
Array Staying(const LockChange& change, const std::string& array, const Parts& was,
              const Parts& now) {
  Array staying;
  if (now.empty()) return staying;
  ForEachItem(*change.was.seen.get(), array.c_str(), [&](const bson_iter_t& shown) {
    bson_iter_t item = shown;  // bson_iter_value writes to it
    if (!Goes(item, was, now)) staying.Add(*bson_iter_value(&item));
    return true;
  });
  return staying;
}

/// Does only a waiter leave, while others hold the lock and wait? They mind neither, and many may
/// leave a document at once.
bool IsOfAWaiter(const LockChange& change) {
  const StoredLock& was = change.was;
  const rules::LockState& now = change.now;
  return was.IsLive(kLookedAt) && now.lock_id == was.lock_id && now.version == was.version &&
         now.shares.size() == was.shares.size() && !now.queue.empty();
}

/// Removes entries. While an entry exists, its waiter has not been granted the lock. While the lock
/// id is unchanged, no waiter is due. One entry stays, because an empty queue is none.
Doc WithoutEntries(const LockChange& change) {
  const LockFieldNames& names = change.collection.fields();
  Array shown, going, staying;
  ForEachItem(*change.was.seen.get(), names.queue.c_str(), [&](const bson_iter_t& item) {
    if (!Goes(item, change.was.queue, change.now.queue)) return true;
    bson_t entry;
    Doc same;
    DocumentAt(item, entry);
    AddAsSeen(same, "id", entry);
    AddAsSeen(same, "until", entry);
    going.Add(same);
    shown.Add(Doc::Of("$elemMatch", same));
    return true;
  });
  for (const rules::QueueEntry& entry : change.now.queue) staying.Add(entry.id);
  shown.Add(Doc::Of("$elemMatch", Doc::Of("id", Doc::Of("$in", staying))));
  Doc filter, statement;
  filter.Add("_id", Equals(change.key)).Add(names.id, Doc::Of("$type", "binData"));
  filter.Add(names.queue, Doc::Of("$all", shown));
  statement.Add("q", filter);
  statement.Add("u", Doc::Of("$pull", Doc::Of(names.queue, Doc::Of("$or", going))));
  return statement;
}

/// What the decision rested on. Not the group, the fence and the mark, which are only shown, nor
/// the holder of a lock: without one it is another program's, which no grant may replace.
Doc GuardOf(const LockChange& change) {
  const LockFieldNames& names = change.collection.fields();
  Doc filter;
  filter.Add("_id", Equals(change.key));
  for (const std::string* const field :
       {&names.id, &names.time, &names.ttl, &names.version, &names.born, &names.closed,
        &names.readers, &names.queue}) {
    AddAsSeen(filter, *field, *change.was.seen.get());
  }
  if (!change.was.HasLockId()) AddAsSeen(filter, names.owner, *change.was.seen.get());
  return filter;
}

/// A share that is not the last ends. Its mark wakes those who wait for any share to end; the lease
/// over all is that of the share which ends last now.
void EndShare(Update& update, const LockChange& change) {
  const std::string& readers = change.collection.fields().readers;
  const Uuid& last = rules::LastToEnd(change.now.shares).id;
  std::size_t place = 0;
  ForEachItem(*change.was.seen.get(), readers.c_str(), [&](const bson_iter_t& item) {
    // Each is one of these, or the lock would be malformed.
    const rules::Share& share = change.was.shares[place++];
    bson_t stored;
    if (share.id == last && DocumentAt(item, stored)) update.Cover(stored);
    if (!Has(change.now.shares, share.id)) update.Mark(share.id);
    return true;
  });
  update.Keep(readers, Staying(change, readers, change.was.shares, change.now.shares));
}

/// The `wake` of the entry that is granted the lock, or nothing.
Doc WakeOf(const LockChange& change) {
  Doc wake;
  ForEachItem(*change.was.seen.get(), change.collection.fields().queue.c_str(),
              [&](const bson_iter_t& item) {
                if (IdOf(item) != change.now.lock_id) return true;
                bson_t entry;
                bson_iter_t at;
                if (DocumentAt(item, entry) && FindField(entry, "wake", at)) {
                  wake.Add("wake", *bson_iter_value(&at));
                }
                return false;
              });
  return wake;
}

/// A grant: to the first of the queue, say, or to the next holder.
void AddGrant(Update& update, const LockChange& change) {
  const StoredLock& was = change.was;
  const rules::LockState& now = change.now;
  GrantRequest grant;
  grant.lock_id = now.lock_id;
  grant.ttl = now.lease.ttl;
  if (now.closed_until != was.closed_until) {
    grant.min_hold = rules::RoundUp(now.closed_until - kLookedAt);
  }
  grant.owner = now.owner;
  grant.group = now.group;
  update.Grant(grant);
  if (was.has_closed && !now.IsClosed(kLookedAt)) update.ForgetClosed();
  if (now.passed_on.done) update.Wake(WakeOf(change));
}

/// Is the holder none that this library writes?
bool HasForeignOwner(const LockChange& change) {
  bson_iter_t owner;
  return FindField(*change.was.seen.get(), change.collection.fields().owner, owner) &&
         !BSON_ITER_HOLDS_DOCUMENT(&owner) && !BSON_ITER_HOLDS_NULL(&owner);
}

/// What becomes of the holder.
void AddHolder(Update& update, const LockChange& change) {
  const StoredLock& was = change.was;
  const rules::LockState& now = change.now;
  // A lock that is over may be granted anew under its own id. Shares are not granted here: the time
  // of a shared lock's grant is that of the share that ends last.
  const bool granted = now.lock_id != was.lock_id || now.granted != was.granted;
  if (now.HasLockId() && !now.IsShared() && granted) return AddGrant(update, change);
  const bool clears = !now.HasLockId() && was.HasLockId();
  if (clears) update.Clear();
  // Without an id, another program's holder would be the lock of one that keeps no id.
  if ((!now.owner && was.owner) || (clears && HasForeignOwner(change))) update.ForgetOwner();
  if (!now.HasLockId() || now.IsShared() || now.lease == was.lease) return;
  update.RestartLease(now.lease.ttl);
  update.KeepFence(now.lock_id, now.fence);
}

}  // namespace

Doc StatementOf(const LockChange& change) {
  if (change.erases) return DeleteStatement(GuardOf(change));
  if (IsOfAWaiter(change)) return WithoutEntries(change);
  const LockFieldNames& names = change.collection.fields();
  const StoredLock& was = change.was;
  const rules::LockState& now = change.now;
  Update update(change.collection);
  AddHolder(update, change);
  if (now.released != was.released) update.Mark(now.released);
  if (now.version != was.version) update.RaiseVersion();
  if (now.IsShared()) {
    if (now.shares.size() < was.shares.size()) EndShare(update, change);
  } else if (was.has_readers) {
    update.ForgetShares();
  }
  if (was.has_queue) update.Keep(names.queue, Staying(change, names.queue, was.queue, now.queue));
  if (change.body) update.ReplaceBody(change.body, change.base);
  return UpdateStatement(GuardOf(change), update);
}

}  // namespace doclock::mongodb
