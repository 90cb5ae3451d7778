#include "rules/save.h"

#include "sqlite/operations/operations.h"

namespace doclock::sqlite {

void Operations::Execute(SaveOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  const std::optional<StoredLock> row = Find(collection, *op.key);
  LoadedLock lock;
  if (row) lock = Load(collection, *row);
  if (lock.malformed) return Malformed(op, lock.row.bad_column);
  if (row) LoadQueue(collection, lock);
  if (lock.state.IsLive(now_)) LoadOwner(lock);
  if (!rules::MaySave(op, row ? &lock.state : nullptr, now_)) return;
  if (!row) lock.state.born = NewUuid();
  const bool concerns_waiters = rules::Save(op, lock.state, now_);
  if (!Save(op, lock, row.has_value())) return;
  if (concerns_waiters) AddNotification(collection, op.hash, lock.state);
}

/// Writes what the rules made of it. False: refused, and that is the operation's result.
bool Operations::Save(SaveOp& op, const LoadedLock& lock, bool there) {
  const SqliteCollection& collection = CollectionOf(op);
  if (op.save == SaveKind::kErase) {
    Erase(collection, lock.row);
    return true;
  }
  if (!there) return PutNew(op, RowOf(lock, lock.state.lease.End()), op.body);
  if (!PutDocument(op, FreedRow(lock, lock.state.lease.End()), op.body)) return false;
  PutFreed(collection, lock);
  return true;
}

}  // namespace doclock::sqlite
