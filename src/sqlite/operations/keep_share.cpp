#include <algorithm>

#include "document/json/merged.h"
#include "sqlite/operations/operations.h"

// What happens to a share after its grant: renewals, and its release.

namespace doclock::sqlite {

void Operations::RenewShare(RenewOp& op) {
  if (!op.detached && RenewKnownShare(op)) return;
  const SqliteCollection& collection = CollectionOf(op);
  places_.Remove(op.lock_id);
  std::optional<StoredLock> lock = Find(collection, *op.key);
  if (!lock) {
    op.status = OpStatus::kMissing;
    return;
  }
  if (lock->malformed) return Malformed(op, lock->bad_column);
  std::optional<StoredShare> share;
  if (lock->id == kSharedLockId) share = SharesOf(collection).Find(lock->doc, op.lock_id);
  if (share && share->lease.malformed) return Malformed(op);
  op.status = OpStatus::kLost;
  if (!share) return;
  const Verdict verdict = around_.judge.OfShare(collection, share->lease, now_);
  if (verdict.live) RenewStoredShare(op, *lock, *share, verdict);
}

void Operations::RenewStoredShare(RenewOp& op, StoredLock& lock, StoredShare& share,
                                  const Verdict& verdict) {
  const SqliteCollection& collection = CollectionOf(op);
  const auto now = now_.time_since_epoch();
  // Grants of another boot are as old as what is known of them.
  if (!around_.judge.IsComparable(share.lease, now)) share.granted = now;
  share.lease.time = now;
  share.lease.ttl = std::max(op.ttl, verdict.lease_left);
  share.lease.boot = around_.judge.boot();
  if (!op.foreign) share.lease.slot = SlotFor(op.detached);
  SharesOf(collection).Put(share);
  if (lock.boot == around_.judge.boot()) {
    SharesOf(collection).Cover(lock.doc, now, share.lease.ttl);
  } else {
    const auto covered = around_.judge.Of(collection, lock, now_).lease_left;
    around_.judge.Rebase(lock, now_);
    lock.ttl = std::max(share.lease.ttl, covered);
    Put(collection, lock);
    DropLease(collection, lock);
  }
  if (share.lease.slot == SlotFor(false)) places_.Add(op.lock_id, op.hash, lock.doc);
  op.status = OpStatus::kDone;
}

/// Two small statements, and no look at the document.
bool Operations::RenewKnownShare(RenewOp& op) {
  const auto doc = places_.Find(op.lock_id, op.hash);
  if (!doc) return false;
  Shares shares = SharesOf(CollectionOf(op));
  const auto now = now_.time_since_epoch();
  if (!shares.Renew(*doc, op.lock_id, now, op.ttl, SlotFor(false), around_.judge.boot())) {
    return false;
  }
  shares.Cover(*doc, now, op.ttl);
  op.status = OpStatus::kDone;
  return true;
}

/// What most releases are: others of this process stay. Two small statements.
bool Operations::LeaveShared(WriteOp& op) {
  if (op.body) return false;
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
  if (!SharesOf(collection).Leave(doc, op.lock_id, now, SlotFor(false), around_.judge.boot())) {
    return false;
  }
  op.status = OpStatus::kDone;
  AddNotification(collection, op.hash);
  return true;
}

void Operations::ReleaseShare(WriteOp& op) {
  places_.Remove(op.lock_id);
  if (LeaveShared(op)) return;
  std::optional<StoredDocument> document = FindToWrite(op);
  if (!document) {
    op.status = OpStatus::kMissing;
  } else if (document->lock.malformed) {
    Malformed(op, document->lock.bad_column);
  } else if (HasLiveShare(op, document->lock)) {
    EndShare(op, *document);
  }
}

/// False: the operation is settled.
bool Operations::HasLiveShare(WriteOp& op, const StoredLock& lock) {
  const SqliteCollection& collection = CollectionOf(op);
  op.status = OpStatus::kLost;
  if (lock.id != kSharedLockId) return false;
  const auto share = SharesOf(collection).Find(lock.doc, op.lock_id);
  if (!share) return false;
  if (share->lease.malformed) {
    Malformed(op);
    return false;
  }
  return around_.judge.OfShare(collection, share->lease, now_).live;
}

void Operations::EndShare(WriteOp& op, StoredDocument& document) {
  const SqliteCollection& collection = CollectionOf(op);
  StoredLock& lock = document.lock;
  const bool last = !IsSharedByOthers(collection, lock.doc, op.lock_id);
  if (op.body) ++lock.version;
  if (last) SetFree(op, lock);
  if (last || op.body) {
    const Body body = op.body ? Merged(document.body, op.body) : Body();
    if (!PutDocument(op, lock, body)) return;
  }
  if (last) {
    DropLease(collection, lock);
    SharesOf(collection).DeleteAll(lock.doc);
  } else {
    SharesOf(collection).Delete(lock.doc, op.lock_id);
  }
  op.version = lock.version;
  op.status = OpStatus::kDone;
  AddNotification(collection, op.hash);
}

/// Drops shares that are over and that it meets on the way to one that is live.
bool Operations::IsSharedByOthers(const SqliteCollection& collection, std::int64_t doc,
                                  const Uuid& mine) {
  Shares shares = SharesOf(collection);
  std::vector<Uuid> over;
  bool others = false;
  shares.ForEach(doc, [&](const StoredShare& share) {
    if (share.lease.id == mine) return true;
    others = share.lease.malformed || around_.judge.OfShare(collection, share.lease, now_).live;
    if (!others) over.push_back(share.lease.id);
    return !others;
  });
  for (const Uuid& id : over) shares.Delete(doc, id);
  return others;
}

void Operations::SetFree(const WriteOp& op, StoredLock& lock) const {
  around_.judge.Rebase(lock, now_);
  lock.id = Uuid{};
  lock.slot = kIntentSlot;
  lock.released = op.mark.is_nil() ? op.lock_id : op.mark;
}

}  // namespace doclock::sqlite
