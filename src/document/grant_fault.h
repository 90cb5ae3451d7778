#pragma once

#include "doclock/store.h"

namespace doclock {

/// What makes a request one that no store grants; null: nothing.
inline const char* FaultOf(const GrantRequest& grant) noexcept {
  if (grant.lock_id.is_nil()) return "a lock id must not be nil";
  if (grant.lock_id == kSharedLockId) return "this lock id says that a lock is shared";
  if (grant.mode != LockMode::kShared) return nullptr;
  if (grant.max_holders < 1 || grant.max_holders > kMaxHolders) {
    return "max_holders must be 1 to kMaxHolders";
  }
  return nullptr;
}

}  // namespace doclock
