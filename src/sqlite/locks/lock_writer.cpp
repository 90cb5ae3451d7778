#include "sqlite/locks/lock_writer.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "sqlite/db/database_error.h"
#include "sqlite/db/unix_time.h"
#include "sqlite/schema/index_names.h"

namespace doclock::sqlite {
namespace {

using locking::Change;
using std::chrono::milliseconds;

/// Was the lock granted, or taken over, or handed over?
bool IsGrant(const rules::LockState& was, const rules::LockState& now) noexcept {
  return now.HasLockId() && (now.lock_id != was.lock_id || now.granted != was.granted ||
                             now.owner != was.owner || now.shares.size() > was.shares.size());
}

/// Rows mostly stand in the same order as before, so that this rarely has to search.
template <class T, class Id>
const T* FindIn(const std::vector<T>& all, std::size_t likely, const Uuid& id, const Id& id_of) {
  if (likely < all.size() && id_of(all[likely]) == id) return &all[likely];
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const T& each) { return id_of(each) == id; });
  return found == all.end() ? nullptr : &*found;
}
const StoredShare* FindIn(const std::vector<StoredShare>& all, std::size_t likely, const Uuid& id) {
  return FindIn(all, likely, id, [](const StoredShare& share) { return share.lease.id; });
}
const rules::Share* FindIn(const std::vector<rules::Share>& all, std::size_t likely,
                           const Uuid& id) {
  return FindIn(all, likely, id, [](const rules::Share& share) { return share.id; });
}

/// The begin and the length of a lease, to be stored. One that was cut short counts from its grant,
/// if that is known. No stored time is before the boot.
std::pair<TimePoint, milliseconds> Stored(const rules::Lease& lease, TimePoint granted,
                                          TimePoint now) {
  const bool from_grant = !lease.IsLive(now) && granted <= lease.End();
  const TimePoint since = std::max(from_grant ? granted : lease.since, TimePoint());
  return {since, std::clamp(std::chrono::floor<milliseconds>(lease.End() - since), milliseconds(0),
                            rules::kLongestLease)};
}

}  // namespace

bool LockWriter::Put(Change& change) {
  static const auto* const none = new LoadedDocument;  // for globals, after main
  const auto& collection = static_cast<const SqliteCollection&>(*change.collection);
  const LoadedDocument& was =
      change.was != nullptr ? static_cast<const LoadedDocument&>(*change.was) : *none;
  const rules::LockState& now = change.now ? change.now->lock : was.lock;
  if (change.erased) {
    Erase(collection, was);
  } else {
    Step step{collection, was, now, was.row};
    step.renewed = IsRenewal(step);
    if (!step.renewed) {
      SetRow(step);
    } else if (!now.IsShared()) {
      step.row.slot = now.lease.instance;
    }
    if (!AddShares(change, step) || !PutDocument(change, step)) return false;
    PutLease(change, step);
    PutShares(change, step);
    PutGroup(step);
    PutQueue(step);
  }
  if (change.notice == locking::Notice::kWaiters) {
    notifications_.push_back(
        {collection.tag(), change.hash, now.passed_on.done ? now.passed_on.instance : 0});
  }
  return true;
}

void LockWriter::Erase(const SqliteCollection& collection, const LoadedDocument& was) {
  const std::int64_t doc = was.row.doc;
  renewal_rows_.Remove(was.row.id);
  connection_.Run(collection.tables(), Sql::kDelete, doc);
  if (was.row.has_lease) connection_.Run(collection.tables(), Sql::kDeleteLease, doc);
  if (was.row.id == kSharedLockId) SharesOf(collection).DeleteAll(doc);
  connection_.Run(collection.tables(), Sql::kDeleteGroup, doc);
  if (was.row.queued) QueueOf(collection).DeleteAll(doc);
}

/// The row itself says whose life an exclusive lock hangs on, and keeps the time of the grant.
bool LockWriter::IsRenewal(const Step& step) const noexcept {
  const rules::LockState &was = step.was.lock, &now = step.now;
  if (!now.HasLockId() || now.lock_id != was.lock_id || now.version != was.version) return false;
  if (now.lease.since != now_ || !now.IsLive(now_)) return false;
  // At the moment of the grant a renewal changes nothing.
  if (now.lease == was.lease && now != was) return false;
  return context_.evaluator.IsComparable(step.was.row, now_);
}

/// Does the row say of the lease what it has to say? That of shares only has to cover them.
bool LockWriter::HasSameLease(const Step& step) const noexcept {
  const rules::LockState &was = step.was.lock, &now = step.now;
  if (now.lock_id != was.lock_id || now.closed_until != was.closed_until) return false;
  if (now.IsShared() && now.IsLive(now_)) {
    return context_.evaluator.IsComparable(step.was.row, now_) &&
           now.lease.End() <= TimePoint(step.was.row.LeaseEnd());
  }
  return now.lease == was.lease && now.granted == was.granted && now.owner == was.owner;
}

void LockWriter::SetRow(Step& step) {
  const rules::LockState& now = step.now;
  step.row.id = now.lock_id;
  step.row.version = now.version;
  step.row.released = now.released;
  step.row.born = now.born;
  step.row.fence = now.fence;
  step.row.queued = !now.queue.empty();
  const bool stays_free = !now.HasLockId() && step.was.row.id.is_nil();
  if (!stays_free && !HasSameLease(step)) SetLease(step);
}

void LockWriter::SetLease(Step& step) {
  const rules::LockState &was = step.was.lock, &now = step.now;
  LockColumns& row = step.row;
  step.has_new_lease = true;
  TimePoint since;
  if (now.HasLockId()) {
    std::tie(since, row.ttl) = Stored(now.lease, now.granted, now_);
    row.slot = now.IsShared() ? 0 : now.lease.instance;  // the shares have their own
    if (IsGrant(was, now)) row.owner = context_.owners.NumberOf(connection_, now.owner, UnixTime());
  } else {
    // It has been free for as long as nobody held it.
    since = was.IsLive(now_) ? now_ : std::max(was.lease.End(), TimePoint());
  }
  row.time = since.time_since_epoch();
  row.boot = context_.evaluator.boot();
  row.wall = UnixTime() - std::chrono::floor<std::chrono::seconds>(now_ - since).count();
  row.closed = std::max(now.closed_until, TimePoint()).time_since_epoch();
}

/// The document's own row.
bool LockWriter::PutDocument(Change& change, Step& step) {
  const Body& body = change.now->body;
  const bool is_new = change.was == nullptr;
  // The loaded body has a text, and the new one needs one.
  const bool has_body = body && (is_new || &body.text() != &step.was.body.text());
  if (!is_new && !has_body && step.row == step.was.row) return true;
  const Sql which = is_new ? Sql::kInsert : has_body ? Sql::kPutDocument : Sql::kPutLock;
  const Running put(connection_.Prepared(step.collection.tables(), which));
  is_new ? put->Bind(1, *change.key) : put->Bind(1, step.row.doc);
  BindLock(*put, step.row);
  if (which != Sql::kPutLock) put->Bind(13, std::string_view(body.text()));
  if (!RunWithBody(change, *put)) return false;
  if (is_new) step.row.doc = connection_.LastRowId();
  return true;
}

bool LockWriter::RunWithBody(Change& change, Statement& statement) {
  try {
    statement.Step();
    return true;
  } catch (const DatabaseError& error) {
    // A trigger may have ended the transaction: then it is not about this statement alone.
    if (!error.is_about_values() || !connection_.InTransaction()) throw;
    const std::string index = error.unique_index();
    if (index.empty()) {
      change.Fail(OpStatus::kFailed, Errc::kRefused, error.what());
    } else {
      change.RefuseBy(FieldsOfIndex(index));
    }
    return false;
  }
}

void LockWriter::PutLease(const Change& change, const Step& step) {
  if (step.has_new_lease) {
    if (step.was.row.has_lease)
      connection_.Run(step.collection.tables(), Sql::kDeleteLease, step.row.doc);
    if (!step.was.row.id.is_nil()) renewal_rows_.Remove(step.was.row.id);
  }
  if (!step.renewed) return;
  connection_.Run(step.collection.tables(), Sql::kPutLease, step.row.doc, step.row.id,
                  now_.time_since_epoch(), step.now.lease.Left(now_));
  if (step.now.IsShared()) return;
  // The lease of another process is over once that process is dead: only a closer look shows it.
  if (step.row.slot == context_.coordinator.slot()) {
    renewal_rows_.Add(step.row.id, change.hash, step.row.doc);
  } else {
    renewal_rows_.Remove(step.row.id);
  }
}

/// Comes before the other rows: another program's unique index may refuse a share.
bool LockWriter::AddShares(Change& change, const Step& step) {
  if (!step.now.IsShared() || change.was == nullptr) return true;
  Shares shares = SharesOf(step.collection);
  // What programs that do not know of shares left behind.
  if (!step.was.lock.IsShared()) shares.DeleteAll(step.row.doc);
  for (std::size_t i = 0; i < step.now.shares.size(); ++i) {
    const rules::Share& share = step.now.shares[i];
    if (FindIn(step.was.shares, i, share.id) != nullptr) continue;
    if (shares.Add(RowOf(step, share, nullptr))) continue;
    change.bad_part = "the table of shares";
    change.Fail(OpStatus::kFailed, Errc::kMalformed, locking::MalformedText(change));
    return false;
  }
  return true;
}

/// All others.
void LockWriter::PutShares(const Change& change, const Step& step) {
  Shares shares = SharesOf(step.collection);
  const std::int64_t doc = step.row.doc;
  if (!step.now.IsShared()) {
    if (step.was.lock.IsShared()) shares.DeleteAll(doc);
    return;
  }
  if (change.was == nullptr) {
    shares.DeleteAll(doc);  // of a row that another program deleted
    return shares.Put(RowOf(step, step.now.shares.front(), nullptr));
  }
  const bool released = step.now.shares.size() < step.was.shares.size();
  for (std::size_t i = 0; i < step.was.shares.size(); ++i) {
    const rules::Share& before = step.was.lock.shares[i];
    const rules::Share* const share = FindIn(step.now.shares, i, before.id);
    // Those that are over go with one that is released.
    const bool swept = released && share != nullptr && !share->lease.IsLive(now_);
    if (share == nullptr || swept) {
      shares.Delete(doc, before.id);
      renewal_rows_.Remove(before.id);
    } else if (*share != before) {
      shares.Put(RowOf(step, *share, &step.was.shares[i]));
      const bool renewed = share->lease.since == now_ && share->granted == before.granted &&
                           share->lease.instance == context_.coordinator.slot();
      if (renewed) renewal_rows_.Add(share->id, change.hash, doc);
    }
  }
}

StoredShare LockWriter::RowOf(const Step& step, const rules::Share& share, const StoredShare* was) {
  StoredShare row;
  if (was != nullptr) row = *was;
  row.doc = step.row.doc;
  row.lease.id = share.id;
  // Grants of another boot are as old as what is known of them.
  const bool known = was == nullptr || context_.evaluator.IsComparable(was->lease, now_);
  const TimePoint granted = known ? share.granted : now_;
  row.granted = granted.time_since_epoch();
  TimePoint since;
  std::tie(since, row.lease.ttl) = Stored(share.lease, granted, now_);
  row.lease.time = since.time_since_epoch();
  row.lease.slot = share.lease.instance;
  row.lease.boot = context_.evaluator.boot();
  row.lease.fence = share.fence;
  row.group = share.group;
  if (was != nullptr && share.granted == TimePoint(was->granted)) return row;
  row.lease.wall = UnixTime();
  row.lease.owner = context_.owners.NumberOf(connection_, share.owner, row.lease.wall);
  return row;
}

/// A row of an exclusive lock with a group; it means nothing beside another lock id.
void LockWriter::PutGroup(const Step& step) {
  const rules::LockState &was = step.was.lock, &now = step.now;
  const bool purged = !now.HasLockId() && was.HasLockId() && !was.IsLive(now_);
  if (purged) return connection_.Run(step.collection.tables(), Sql::kDeleteGroup, step.row.doc);
  if (now.group.empty() || now.IsShared() || !IsGrant(was, now)) return;
  connection_.Run(step.collection.tables(), Sql::kPutGroup, step.row.doc, now.lock_id, now.group);
}

/// The rules remove entries, change them in place, and add them at the end.
void LockWriter::PutQueue(const Step& step) {
  Queue queue = QueueOf(step.collection);
  const std::int64_t doc = step.row.doc;
  auto entry = step.now.queue.begin();
  const auto end = step.now.queue.end();
  if (!step.was.row.queued && entry != end) queue.DeleteAll(doc);  // of a row that was deleted
  std::int64_t last = 0;
  for (const StoredEntry& before : step.was.entries) {
    if (!before.malformed) last = before.place;
    if (entry == end || entry->id != before.entry.id) {
      queue.Delete(doc, before.place);
      continue;
    }
    if (*entry != before.entry) PutEntry(step, before.place, *entry);
    ++entry;
  }
  for (; entry != end; ++entry) PutEntry(step, ++last, *entry);
}

void LockWriter::PutEntry(const Step& step, std::int64_t place, const rules::QueueEntry& entry) {
  StoredEntry stored;
  stored.place = place;
  stored.since = now_.time_since_epoch();
  stored.boot = context_.evaluator.boot();
  stored.owner = context_.owners.NumberOf(connection_, entry.owner, UnixTime());
  stored.entry = entry;
  QueueOf(step.collection).Put(step.row.doc, stored);
}

}  // namespace doclock::sqlite
