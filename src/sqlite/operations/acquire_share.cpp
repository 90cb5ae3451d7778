#include "sqlite/db/unix_time.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

/// @param look at each share, even if there is room beside all of them
void Operations::AcquireShare(AcquireOp& op, StoredDocument& document, bool look) {
  const SqliteCollection& collection = CollectionOf(op);
  Shares shares = SharesOf(collection);
  LoadedLock lock = LoadRow(collection, document.lock);
  rules::LockState& state = lock.state;
  ShareRows rows;
  if (state.IsShared() || !state.IsLive(now_)) rows = shares.Glance(lock.row.doc);
  if (state.IsShared() && rows.malformed) return Malformed(op, "the table of shares");
  look = look || rows.intent || rows.shares >= op.grant.max_holders || state.IsClosed(now_) ||
         lock.row.queued;
  if (look) {
    if (state.IsShared()) LoadShares(collection, lock);
    if (rows.intent) LoadIntent(collection, lock);
    if (lock.malformed) return Malformed(op, "the table of shares");
  } else if (state.IsShared() && rows.shares > 0) {
    // Mostly there is room even if all of them are live: one stands for all.
    state.shares.emplace_back().lease = state.lease;
  }
  LoadQueue(collection, lock);
  const std::vector<rules::Share> before = state.shares;
  const rules::Intent intent = state.intent;
  Decide(op, lock);
  if (op.status != OpStatus::kDone) return PutAfterRefusal(op, lock, intent);
  if (op.passed_on) {
    op.body = std::move(document.body);
    return;
  }
  // A share that stands in the queue passes a live intent, which stays.
  if (rows.intent && !state.intent.IsLive(now_)) shares.DeleteIntent(lock.row.doc);
  if (lock.row.id != kSharedLockId && rows.shares > 0) {
    // What programs that do not know of shares left behind.
    shares.DeleteAll(lock.row.doc);
  } else if (look) {
    DropOver(collection, lock.row.doc, before);
  }
  if (!shares.Add(ShareFor(lock, op.grant))) {
    // The same id again: what of, only a closer look shows. After that look it is another
    // program's unique index.
    return look ? Malformed(op, "the table of shares") : AcquireShare(op, document, /*look=*/true);
  }
  op.body = std::move(document.body);
  PutGrant(collection, lock, op.grant.owner, op.grant.detached);
}

void Operations::DropOver(const SqliteCollection& collection, std::int64_t doc,
                          const std::vector<rules::Share>& shares) {
  for (const rules::Share& share : shares) {
    if (!share.lease.IsLive(now_)) SharesOf(collection).Delete(doc, share.id);
  }
}

StoredShare Operations::ShareFor(const LoadedLock& lock, const GrantRequest& grant) {
  StoredShare share;
  share.doc = lock.row.doc;
  share.lease.fence = lock.state.version;
  share.lease.id = grant.lock_id;
  share.lease.time = share.granted = now_.time_since_epoch();
  share.lease.ttl = grant.ttl;
  share.lease.slot = SlotFor(grant.detached);
  share.lease.boot = around_.evaluator.boot();
  share.lease.wall = UnixTime();
  share.lease.owner = around_.owners.NumberOf(connection_, grant.owner, share.lease.wall);
  share.group = grant.group;
  return share;
}

void Operations::PutIntent(const AcquireOp& op, std::int64_t doc) {
  StoredLock intent;
  intent.doc = doc;
  intent.id = op.grant.intent_id;
  intent.time = now_.time_since_epoch();
  intent.ttl = op.grant.intent;
  intent.slot = SlotFor(op.grant.detached);
  intent.boot = around_.evaluator.boot();
  SharesOf(CollectionOf(op)).PutIntent(intent);
}

}  // namespace doclock::sqlite
