#include "document/json/merged.h"
#include "rules/holder.h"
#include "rules/shares.h"
#include "sqlite/db/unix_time.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

void Operations::Execute(WriteOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  const bool shared = op.mode == LockMode::kShared;
  if (shared) renewal_rows_.Remove(op.lock_id);
  if (shared ? LeaveShared(op) : ReleaseKnown(op)) return;
  const std::optional<StoredDocument> document = FindToWrite(op);
  if (!document) {
    op.status = OpStatus::kMissing;
    return;
  }
  LoadedLock lock = LoadRow(collection, document->lock);
  const bool leaves = op.write == WriteKind::kLeave;
  if ((shared || leaves) && lock.state.IsShared()) LoadToRelease(collection, lock, op.lock_id);
  if (lock.malformed) return Malformed(op, lock.row.bad_column);
  if (op.write != WriteKind::kCheckpoint) LoadQueue(collection, lock);
  if (!rules::MayWrite(op, lock.state, now_)) return;
  const Body body = op.merge && op.body ? Merged(document->body, op.body) : op.body;
  rules::Write(op, lock.state, now_);
  if (!Write(op, lock, body)) return;
  renewal_rows_.Remove(op.lock_id);
  if (rules::ConcernsWaiters(op, lock.state)) AddNotification(collection, op.hash, lock.state);
}

/// Loads the document, with its body if there is something to merge into it.
std::optional<StoredDocument> Operations::FindToWrite(const WriteOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  if (op.merge && op.body) return FindWithBody(collection, *op.key);
  if (const auto lock = Find(collection, *op.key)) return StoredDocument{*lock, Body()};
  return std::nullopt;
}

/// The common release: one statement.
bool Operations::ReleaseKnown(WriteOp& op) {
  if (op.write != WriteKind::kRelease || op.merge || op.next != nullptr ||
      op.expected == kAnyVersion || op.lock_id.is_nil() || op.lock_id == kSharedLockId ||
      !op.mark.is_nil()) {
    return false;
  }
  const SqliteCollection& collection = CollectionOf(op);
  const Running release(
      connection_.Prepared(collection.tables(), op.body ? Sql::kReleaseKnown : Sql::kUnlockKnown));
  release->Bind(1, *op.key);
  release->Bind(2, op.lock_id);
  release->Bind(3, op.expected);
  release->Bind(5, now_.time_since_epoch().count());
  release->Bind(6, UnixTime());
  release->Bind(7, around_.evaluator.boot());
  if (op.body) release->Bind(4, std::string_view(op.body.text()));
  if (!RunWithBody(op, *release)) return true;
  if (connection_.Changes() != 1) return false;
  if (op.renewed) {
    const Running drop(connection_.Prepared(collection.tables(), Sql::kDeleteLeaseOf));
    drop->Bind(1, *op.key);
    drop->Step();
    renewal_rows_.Remove(op.lock_id);
  }
  op.version = op.expected + 1;
  op.status = OpStatus::kDone;
  AddNotification(collection, op.hash);
  return true;
}

/// What most releases of shares are: others of this process stay. Two small statements.
bool Operations::LeaveShared(WriteOp& op) {
  if (op.body || !op.mark.is_nil()) return false;
  const SqliteCollection& collection = CollectionOf(op);
  std::int64_t doc = 0;
  {
    const Running find(connection_.Prepared(collection.tables(), Sql::kSharedId));
    find->Bind(1, *op.key);
    find->Bind(2, kSharedLockId);
    if (!find->Step()) return false;
    doc = find->Integer(0);
    op.version = find->Integer(1);
  }
  const auto now = now_.time_since_epoch();
  if (!SharesOf(collection).Leave(doc, op.lock_id, now, SlotFor(false), around_.evaluator.boot())) {
    return false;
  }
  op.status = OpStatus::kDone;
  AddNotification(collection, op.hash);
  return true;
}

/// Its own share, and the others up to one that is live: so much decides what is left.
void Operations::LoadToRelease(const SqliteCollection& collection, LoadedLock& lock,
                               const Uuid& mine) {
  std::vector<rules::Share>& shares = lock.state.shares;
  const auto share = SharesOf(collection).Find(lock.row.doc, mine);
  if (!share) return;
  AddShare(collection, lock, *share);
  SharesOf(collection).ForEach(lock.row.doc, [&](const StoredShare& other) {
    if (other.lease.id == mine) return true;
    if (other.lease.malformed) {  // nothing says that it is over
      shares.emplace_back().lease = {now_, std::chrono::milliseconds(1)};
    } else {
      AddShare(collection, lock, other);
    }
    return !shares.back().lease.IsLive(now_);
  });
  rules::Cover(lock.state, now_);
}

/// Writes what the rules made of it. False: refused, and that is the operation's result.
bool Operations::Write(WriteOp& op, const LoadedLock& lock, const Body& body) {
  const SqliteCollection& collection = CollectionOf(op);
  if (op.write == WriteKind::kErase) {
    Erase(collection, lock.row);
    return true;
  }
  const bool passed_on = lock.state.passed_on.done;
  if (op.write == WriteKind::kLeave && !passed_on && lock.state.lock_id == lock.row.id) {
    PutQueue(collection, lock);
    if (!lock.state.IsShared()) return true;  // only an entry was removed
  }
  if (lock.state.IsShared()) return LeaveOthers(op, lock, body);
  StoredLock row = op.next == nullptr ? FreedRow(lock, now_)
                                      : GrantedRow(lock, op.next->owner, op.next->detached);
  if (op.write == WriteKind::kCheckpoint) {
    row.ttl = op.ttl;  // also if that is over at once
    // A lease hangs on the life of the store that extended it last.
    if (row.slot != 0) row.slot = SlotFor(false);
  }
  if (!PutDocument(op, row, body)) return false;
  PutFreed(collection, lock);
  if (op.next != nullptr) PutGroup(collection, lock);
  return true;
}

/// The lock stays as the others have it. Shares that are over go with the one that is released.
bool Operations::LeaveOthers(WriteOp& op, const LoadedLock& lock, const Body& body) {
  const SqliteCollection& collection = CollectionOf(op);
  StoredLock row = lock.row;
  row.version = lock.state.version;
  if (body && !PutDocument(op, row, body)) return false;
  SharesOf(collection).Delete(row.doc, op.lock_id);
  DropOver(collection, row.doc, lock.state.shares);
  return true;
}

}  // namespace doclock::sqlite
