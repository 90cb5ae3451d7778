#include "sqlite/operations/operations.h"

namespace doclock::sqlite {
namespace {

bool IsExpected(const SaveOp& op, const StoredLock& lock) noexcept {
  if (op.expected == kAnyVersion) return true;  // an erasure
  return op.expected == lock.version && op.born == lock.born;
}

}  // namespace

void Operations::Execute(SaveOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  std::optional<StoredLock> lock = Find(collection, *op.key);
  if (lock && lock->malformed) return Malformed(op, lock->bad_column);
  if (op.save == SaveKind::kInsert) {
    if (lock) return Conflict(op, lock->version);
    return Insert(op);
  }
  if (!lock) {
    op.status = OpStatus::kMissing;
    return;
  }
  const Verdict verdict = Judged(collection, *lock);
  if (verdict.malformed) return Malformed(op);
  if (verdict.live) return Busy(op, verdict);
  if (!IsExpected(op, *lock)) return Conflict(op, lock->version);
  Change(op, *lock);
}

void Operations::Insert(SaveOp& op) {
  StoredLock lock;
  lock.version = 1;
  lock.born = NewUuid();
  lock.released = op.write_id;
  const Running insert(connection_.Prepared(CollectionOf(op).tables(), Sql::kInsert));
  insert->Bind(1, *op.key);
  BindLock(*insert, lock);
  insert->Bind(13, std::string_view(op.body.text()));
  if (!RunWithBody(op, *insert)) return;
  op.version = 1;
  op.born = lock.born;
  op.status = OpStatus::kDone;
}

void Operations::Change(SaveOp& op, StoredLock& lock) {
  const SqliteCollection& collection = CollectionOf(op);
  const bool had_lock = !lock.id.is_nil();
  const StoredLock before = lock;
  ++lock.version;
  if (op.save == SaveKind::kErase) {
    Erase(collection, lock);
    DropShared(collection, before);
  } else {
    const bool shared = lock.id == kSharedLockId;
    if (shared) lock.slot = kIntentSlot;
    if (had_lock) around_.judge.RebaseEnded(lock, now_);
    lock.id = Uuid{};
    lock.released = op.write_id;
    if (!PutDocument(op, lock, op.body)) return;
    DropLease(collection, lock);
    if (shared) SharesOf(collection).DeleteAll(lock.doc);
  }
  op.version = lock.version;
  op.status = OpStatus::kDone;
  if (had_lock) AddNotification(collection, op.hash);
}

}  // namespace doclock::sqlite
