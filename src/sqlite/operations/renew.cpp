#include "rules/holder.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

void Operations::Execute(RenewOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  if (!op.detached && RenewKnown(op)) {
    op.status = OpStatus::kDone;
    return;
  }
  renewal_rows_.Remove(op.lock_id);
  const std::optional<StoredLock> row = Find(collection, *op.key);
  if (!row) {
    op.status = OpStatus::kMissing;
    return;
  }
  LoadedLock lock = LoadRow(collection, *row);
  std::optional<StoredShare> share;
  if (op.mode == LockMode::kShared && lock.state.IsShared()) {
    share = SharesOf(collection).Find(row->doc, op.lock_id);
    if (share) AddShare(collection, lock, *share);
  }
  if (lock.malformed) return Malformed(op, row->bad_column);
  rules::Renew(op, lock.state, now_);
  if (op.status != OpStatus::kDone) return;
  if (share) PutRenewed(op, lock, *share);
  PutLease(op, lock);
}

/// The row itself says whose life an exclusive lock hangs on, so it is written where that changes;
/// renewals of detached locks are rare.
void Operations::PutLease(const RenewOp& op, const LoadedLock& lock) {
  const SqliteCollection& collection = CollectionOf(op);
  const bool exclusive = op.mode == LockMode::kExclusive;
  const std::int64_t slot = exclusive && !op.foreign ? SlotFor(op.detached) : lock.row.slot;
  if (slot != lock.row.slot || (exclusive && op.detached) ||
      lock.row.boot != around_.evaluator.boot()) {
    StoredLock row = RowOf(lock, now_);
    row.slot = slot;
    Put(collection, row);
    return DropLease(collection, lock.row);
  }
  const Running put(connection_.Prepared(collection.tables(), Sql::kPutLease));
  put->Bind(1, lock.row.doc);
  put->Bind(2, lock.row.id);
  put->Bind(3, now_.time_since_epoch().count());
  put->Bind(4, std::int64_t{lock.state.lease.Left(now_).count()});
  put->Step();
  // The lease of another process is over once that process is dead: only a closer look shows it.
  if (exclusive && slot == SlotFor(false)) renewal_rows_.Add(op.lock_id, op.hash, lock.row.doc);
}

void Operations::PutRenewed(const RenewOp& op, const LoadedLock& lock, StoredShare& share) {
  // Grants of another boot are as old as what is known of them.
  if (!around_.evaluator.IsComparable(share.lease, now_)) share.granted = now_.time_since_epoch();
  share.lease.time = now_.time_since_epoch();
  share.lease.ttl = lock.state.shares.front().lease.ttl;
  share.lease.boot = around_.evaluator.boot();
  if (!op.foreign) share.lease.slot = SlotFor(op.detached);
  SharesOf(CollectionOf(op)).Put(share);
  if (share.lease.slot == SlotFor(false)) renewal_rows_.Add(op.lock_id, op.hash, lock.row.doc);
}

/// The lease's row has the lock's id exactly while the lock has it (every write of ours that takes
/// the lock from an id deletes its lease; what foreign tools do shows in the document), so one
/// small statement decides; two for a share, whose own row decides.
bool Operations::RenewKnown(const RenewOp& op) {
  const auto doc = renewal_rows_.Find(op.lock_id, op.hash);
  if (!doc) return false;
  const auto now = now_.time_since_epoch();
  if (op.mode == LockMode::kShared) {
    Shares shares = SharesOf(CollectionOf(op));
    const bool renewed =
        shares.Renew(*doc, op.lock_id, now, op.ttl, SlotFor(false), around_.evaluator.boot());
    if (renewed) shares.Cover(*doc, now, op.ttl);
    return renewed;
  }
  const Running renew(connection_.Prepared(CollectionOf(op).tables(), Sql::kRenewLease));
  renew->Bind(1, *doc);
  renew->Bind(2, op.lock_id);
  renew->Bind(3, now.count());
  renew->Bind(4, std::int64_t{op.ttl.count()});
  renew->Step();
  return connection_.Changes() == 1;
}

}  // namespace doclock::sqlite
