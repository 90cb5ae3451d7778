#include <algorithm>

#include "sqlite/db/unix_time.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

void Operations::Execute(AcquireOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  std::optional<StoredDocument> document = FindWithBody(collection, *op.key);
  if (!document) {
    if (op.insert) return Create(op);
    op.status = OpStatus::kMissing;
    return;
  }
  if (document->lock.malformed) return Malformed(op, document->lock.bad_column);
  if (op.grant.mode == LockMode::kShared) return AcquireShare(op, *document);
  const Verdict verdict = Judged(collection, document->lock);
  if (verdict.malformed) return Malformed(op);
  if (verdict.free()) return Grant(op, *document);
  Busy(op, verdict);
  if (verdict.live) LeaveIntent(op, document->lock);
}

void Operations::Grant(AcquireOp& op, StoredDocument& document) {
  const SqliteCollection& collection = CollectionOf(op);
  StoredLock& lock = document.lock;
  op.took_over = !lock.id.is_nil();
  op.created = false;
  if (lock.born.is_nil()) lock.born = NewUuid();
  ++lock.version;
  const StoredLock before = lock;
  SetGrant(lock, op.grant);
  Put(collection, lock);
  DropShared(collection, before);
  DropLease(collection, lock);
  PutGroup(collection, lock.doc, op.grant);
  op.version = lock.version;
  op.born = lock.born;
  op.body = std::move(document.body);
  op.status = OpStatus::kDone;
}

void Operations::Create(AcquireOp& op) {
  StoredLock lock;
  lock.born = op.grant.lock_id;
  lock.version = 1;
  const bool shared = op.grant.mode == LockMode::kShared;
  if (shared) {
    SetSharedGrant(lock, op.grant, {});
  } else {
    SetGrant(lock, op.grant);
  }
  const Running insert(connection_.Prepared(CollectionOf(op).tables(), Sql::kInsert));
  insert->Bind(1, *op.key);
  BindLock(*insert, lock);
  insert->Bind(13, std::string_view(op.insert.text()));
  if (!RunWithBody(op, *insert)) return;
  if (shared || !op.grant.group.empty()) {
    lock.doc = Find(CollectionOf(op), *op.key).value().doc;
    if (shared) {
      SharesOf(CollectionOf(op)).DeleteAll(lock.doc);
      SharesOf(CollectionOf(op)).Put(ShareFor(lock, op.grant));
    } else {
      PutGroup(CollectionOf(op), lock.doc, op.grant);
    }
  }
  op.version = 1;
  op.born = lock.born;
  op.body = op.insert;
  op.created = true;
  op.took_over = false;
  op.status = OpStatus::kDone;
}

void Operations::PutGroup(const SqliteCollection& collection, std::int64_t doc,
                          const GrantRequest& grant) {
  if (grant.group.empty()) return;
  const Running put(connection_.Prepared(collection.tables(), Sql::kPutGroup));
  put->Bind(1, doc);
  put->Bind(2, grant.lock_id);
  put->Bind(3, grant.group);
  put->Step();
}

void Operations::DropGroup(const SqliteCollection& collection, std::int64_t doc) {
  const Running drop(connection_.Prepared(collection.tables(), Sql::kDeleteGroup));
  drop->Bind(1, doc);
  drop->Step();
}

void Operations::SetGrant(StoredLock& lock, const GrantRequest& grant) {
  around_.judge.Rebase(lock, now_);
  lock.id = grant.lock_id;
  lock.ttl = grant.ttl;
  lock.slot = SlotFor(grant.detached);
  // An earlier grant's, which a hand-over meets, may last longer.
  if (grant.min_hold.count() > 0) lock.closed = std::max(lock.closed, lock.time + grant.min_hold);
  lock.owner = around_.owners.NumberOf(connection_, grant.owner, UnixTime());
  lock.fence = lock.version;
}

std::int64_t Operations::SlotFor(bool detached) const noexcept {
  return detached ? 0 : around_.coordinator.slot();
}

}  // namespace doclock::sqlite
