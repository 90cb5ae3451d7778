#include <algorithm>

#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

void Operations::Execute(RenewOp& op) {
  if (op.mode == LockMode::kShared) return RenewShare(op);
  if (!op.detached && RenewKnown(op)) return;
  const SqliteCollection& collection = CollectionOf(op);
  std::optional<StoredLock> lock = Find(collection, *op.key);
  if (!lock) {
    places_.Remove(op.lock_id);
    op.status = OpStatus::kMissing;
    return;
  }
  if (lock->malformed) return Malformed(op, lock->bad_column);
  // A renewal never revives; a lock whose process died is nobody's.
  const Verdict verdict = Judged(collection, *lock);
  if (op.lock_id.is_nil() || op.lock_id == kSharedLockId || lock->id != op.lock_id ||
      !verdict.live) {
    places_.Remove(op.lock_id);
    op.status = OpStatus::kLost;
    return;
  }
  const auto ttl = std::max(op.ttl, verdict.lease_left);  // never sooner over than without
  const std::int64_t slot = op.foreign ? lock->slot : SlotFor(op.detached);
  if (lock->slot == slot && !op.detached && lock->boot == around_.judge.boot()) {
    PutLease(collection, *lock, ttl);
    places_.Add(op.lock_id, op.hash, lock->doc);
  } else {
    // The row itself says whose life counts; renewals of detached locks are rare.
    around_.judge.Rebase(*lock, now_);
    lock->ttl = ttl;
    lock->slot = slot;
    Put(collection, *lock);
    DropLease(collection, *lock);
  }
  op.status = OpStatus::kDone;
}

/// The lease's row has the lock's id exactly while the lock has it (every write of ours that takes
/// the lock from an id deletes its lease; what foreign tools do shows in the document), so one
/// small statement decides.
bool Operations::RenewKnown(RenewOp& op) {
  const auto doc = places_.Find(op.lock_id, op.hash);
  if (!doc) return false;
  const Running renew(connection_.Prepared(CollectionOf(op).tables(), Sql::kRenewLease));
  renew->Bind(1, *doc);
  renew->Bind(2, op.lock_id);
  renew->Bind(3, now_.time_since_epoch().count());
  renew->Bind(4, std::int64_t{op.ttl.count()});
  renew->Step();
  if (connection_.Changes() != 1) return false;
  op.status = OpStatus::kDone;
  return true;
}

void Operations::PutLease(const SqliteCollection& collection, const StoredLock& lock,
                          std::chrono::milliseconds ttl) {
  const Running put(connection_.Prepared(collection.tables(), Sql::kPutLease));
  put->Bind(1, lock.doc);
  put->Bind(2, lock.id);
  put->Bind(3, now_.time_since_epoch().count());
  put->Bind(4, std::int64_t{ttl.count()});
  put->Step();
}

void Operations::DropLease(const SqliteCollection& collection, StoredLock& lock) {
  if (!lock.has_lease) return;
  const Running drop(connection_.Prepared(collection.tables(), Sql::kDeleteLease));
  drop->Bind(1, lock.doc);
  drop->Step();
  lock.has_lease = lock.lease_is_its = false;
}

}  // namespace doclock::sqlite
