#include "sqlite/operations/operations.h"

// Finds out by reading what a commit that failed half-way has stored.

namespace doclock::sqlite {
namespace {

/// A waiter asks under one id again and again: only the version tells this grant from an earlier
/// one.
bool Shows(const AcquireOp& op, const std::optional<StoredLock>& lock) {
  return lock && lock->id == op.grant.lock_id && lock->version == op.version;
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

/// Called during the write turn, right after the commit: no other coordinated writer came between.
bool Operations::IsVisible(const StoreOp& op) {
  const std::optional<StoredLock> lock = Find(CollectionOf(op), *op.key);
  const auto share = [&](const Uuid& id) {
    return lock && lock->id == kSharedLockId ? SharesOf(CollectionOf(op)).Find(lock->doc, id)
                                             : std::nullopt;
  };
  if (op.kind == OpKind::kAcquire) {
    const auto& acquire = static_cast<const AcquireOp&>(op);
    if (acquire.grant.mode == LockMode::kShared) return share(acquire.grant.lock_id).has_value();
  } else if (op.kind == OpKind::kRenew) {
    const auto& renew = static_cast<const RenewOp&>(op);
    if (renew.mode == LockMode::kShared) {
      const auto found = share(renew.lock_id);
      return found && found->lease.time == now_.time_since_epoch();
    }
  } else if (op.kind == OpKind::kWrite) {
    const auto& write = static_cast<const WriteOp&>(op);
    if (write.mode == LockMode::kShared) return !share(write.lock_id);
    if (write.write == WriteKind::kLeave) {
      return !lock || (lock->id != write.lock_id &&
                       !HasEntry(CollectionOf(op), *lock, write.lock_id) && !share(write.lock_id));
    }
  }
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
