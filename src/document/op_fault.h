#pragma once

#include "doclock/store.h"

namespace doclock {

// What makes a request one that no store carries out; null: nothing.

inline const char* FaultOf(const GrantRequest& grant) noexcept {
  if (grant.lock_id.is_nil()) return "a lock id must not be nil";
  if (grant.lock_id == kSharedLockId) return "this lock id says that a lock is shared";
  if (grant.mode != LockMode::kShared) return nullptr;
  if (grant.max_holders < 1 || grant.max_holders > kMaxHolders) {
    return "max_holders must be 1 to kMaxHolders";
  }
  return nullptr;
}

inline const char* FaultOf(const WriteOp& op) noexcept {
  if (op.next != nullptr) {
    if (op.next->mode == LockMode::kShared) return "a lock is not handed over to a share";
    if (const char* const fault = FaultOf(*op.next)) return fault;
  }
  if (op.mode == LockMode::kExclusive) return nullptr;
  const bool plain = op.write == WriteKind::kRelease && (op.merge || !op.body) &&
                     op.next == nullptr && op.expected == kAnyVersion;
  return plain ? nullptr : "a share can be released, with a note at most";
}

}  // namespace doclock
