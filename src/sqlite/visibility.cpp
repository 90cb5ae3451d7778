#include "sqlite/operations.h"

// What a commit that failed half-way left behind is found out by looking.

namespace doclock::sqlite {
namespace {

bool Shows(const AcquireOp& op, const std::optional<StoredLock>& lock) {
  return lock && lock->id == op.grant.lock_id;
}

bool Shows(const RenewOp& op, const std::optional<StoredLock>& lock, TimePoint now) {
  return lock && lock->id == op.lock_id && lock->LastSign() == now.time_since_epoch();
}

bool Shows(const WriteOp& op, const std::optional<StoredLock>& lock) {
  if (op.write == WriteKind::kErase) return !lock;
  return lock && lock->version == op.version;
}

bool Shows(const SaveOp& op, const std::optional<StoredLock>& lock) {
  if (op.save == SaveKind::kErase) return !lock;
  return lock && lock->released == op.write_id;
}

}  // namespace

/// Asked inside the gate, right after the commit: nobody who queues at the gate came in between.
bool Operations::IsVisible(const StoreOp& op) {
  const std::optional<StoredLock> lock = Find(CollectionOf(op), *op.key);
  switch (op.kind) {
    case OpKind::kAcquire:
      return Shows(static_cast<const AcquireOp&>(op), lock);
    case OpKind::kRenew:
      return Shows(static_cast<const RenewOp&>(op), lock, now_);
    case OpKind::kWrite:
      return Shows(static_cast<const WriteOp&>(op), lock);
    case OpKind::kSave:
      return Shows(static_cast<const SaveOp&>(op), lock);
    case OpKind::kRead:
      break;
  }
  return true;
}

}  // namespace doclock::sqlite
