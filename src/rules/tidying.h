#pragma once

#include "doclock/export.h"
#include "rules/lock_state.h"
#include "rules/queue.h"

namespace doclock::rules {

// What others than the holder do to a lock.

/// Is there a lock whose lease is over, for a purge to clear? A lock that others wait for is
/// theirs.
[[nodiscard]] inline bool IsPurgeable(const LockState& state, TimePoint now) noexcept {
  return state.HasLockId() && !state.IsLive(now) && FirstInQueue(state, now) == nullptr;
}

/// Clears a lock that is over, and a queue that is over: no version rises.
DOCLOCK_EXPORT void Purge(LockState& state) noexcept;

}  // namespace doclock::rules
