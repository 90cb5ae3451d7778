#include "rules/acquire.h"

#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

void Operations::Execute(AcquireOp& op) {
  std::optional<StoredDocument> document = FindWithBody(CollectionOf(op), *op.key);
  if (document) return Acquire(op, *document);
  if (op.insert) return Create(op);
  op.status = OpStatus::kMissing;
}

void Operations::Acquire(AcquireOp& op, StoredDocument& document) {
  const SqliteCollection& collection = CollectionOf(op);
  if (document.lock.malformed) return Malformed(op, document.lock.bad_column);
  if (op.grant.mode == LockMode::kShared) return AcquireShare(op, document, /*look=*/false);
  LoadedLock lock = Load(collection, document.lock);
  if (lock.malformed) return Malformed(op);
  if (!op.grant.intent_id.is_nil() && lock.state.IsShared() && lock.state.IsLive(now_)) {
    LoadIntent(collection, lock);
  }
  LoadQueue(collection, lock);
  const rules::Intent before = lock.state.intent;
  Decide(op, lock);
  if (op.status != OpStatus::kDone) return PutAfterRefusal(op, lock, before);
  op.body = std::move(document.body);
  if (!op.passed_on) PutGrant(collection, lock, op.grant.owner, op.grant.detached);
}

/// By the rules, once they know who is in the way.
void Operations::Decide(AcquireOp& op, LoadedLock& lock) {
  if (lock.state.born.is_nil()) lock.state.born = NewUuid();
  if (lock.state.IsLive(now_)) LoadOwner(lock);
  rules::Acquire(op, lock.state, now_, around_.coordinator.slot());
}

void Operations::Create(AcquireOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  LoadedLock lock;
  rules::AcquireNew(op, lock.state, now_);
  if (!PutNew(op, GrantedRow(lock, op.grant.owner, op.grant.detached), op.insert)) return;
  op.body = op.insert;
  if (!lock.state.IsShared() && lock.state.group.empty()) return;
  lock.row.doc = Find(collection, *op.key).value().doc;
  if (lock.state.IsShared()) {
    SharesOf(collection).DeleteAll(lock.row.doc);  // of a row that another program deleted
    SharesOf(collection).Put(ShareFor(lock, op.grant));
  } else {
    PutGroup(collection, lock);
  }
}

void Operations::PutGrant(const SqliteCollection& collection, const LoadedLock& lock,
                          const OwnerPtr& owner, bool detached) {
  Put(collection, GrantedRow(lock, owner, detached));
  DropLease(collection, lock.row);
  PutQueue(collection, lock);
  if (lock.state.IsShared()) return;
  DropShared(collection, lock.row);
  DropIntent(collection, lock.row);
  PutGroup(collection, lock);
}

StoredLock Operations::GrantedRow(const LoadedLock& lock, const OwnerPtr& owner, bool detached) {
  StoredLock row = RowOf(lock, now_);
  row.slot = lock.state.IsShared() ? 0 : SlotFor(detached);  // the shares have their own
  row.owner = around_.owners.NumberOf(connection_, owner, row.wall);
  return row;
}

std::int64_t Operations::SlotFor(bool detached) const noexcept {
  return detached ? 0 : around_.coordinator.slot();
}

}  // namespace doclock::sqlite
