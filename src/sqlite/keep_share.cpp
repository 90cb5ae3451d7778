#include <algorithm>

#include "sqlite/operations.h"

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
  if (lock->malformed) return Malformed(op);
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
  if (!op.detached && !op.foreign) places_.Add(op.lock_id, op.hash, lock.doc);
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

void Operations::ReleaseShare(WriteOp& op) {
  if (op.write != WriteKind::kRelease || op.body || op.next != nullptr || op.merge ||
      op.expected != kAnyVersion) {
    return op.Fail(Errc::kRefused, "a share can be released, and nothing else");
  }
  const SqliteCollection& collection = CollectionOf(op);
  places_.Remove(op.lock_id);
  std::optional<StoredLock> lock = Find(collection, *op.key);
  if (!lock) {
    op.status = OpStatus::kMissing;
    return;
  }
  if (lock->malformed) return Malformed(op);
  op.status = OpStatus::kLost;
  if (lock->id != kSharedLockId) return;
  std::vector<StoredShare> shares = SharesOf(collection).Of(lock->doc);
  const auto mine = std::find_if(shares.begin(), shares.end(), [&](const StoredShare& share) {
    return share.lease.id == op.lock_id;
  });
  if (mine == shares.end()) return;
  if (mine->lease.malformed) return Malformed(op);
  if (!around_.judge.OfShare(collection, mine->lease, now_).live) return;
  shares.erase(mine);
  const ShareCount others = Count(collection, shares);
  if (others.live > 0 || others.malformed) {
    SharesOf(collection).Delete(lock->doc, op.lock_id);
  } else {
    EndShared(op, *lock);
  }
  op.version = lock->version;
  op.status = OpStatus::kDone;
  RingFor(collection, op.hash);
}

void Operations::EndShared(const WriteOp& op, StoredLock& lock) {
  const SqliteCollection& collection = CollectionOf(op);
  around_.judge.Rebase(lock, now_);
  lock.id = Uuid{};
  lock.slot = kIntentSlot;
  lock.released = op.mark.is_nil() ? op.lock_id : op.mark;
  Put(collection, lock);
  DropLease(collection, lock);
  SharesOf(collection).DeleteAll(lock.doc);
}

}  // namespace doclock::sqlite
