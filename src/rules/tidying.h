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

/// Clears a lock that is over, and a queue that is over: no version rises, and an intent stays.
DOCLOCK_EXPORT void Purge(LockState& state) noexcept;

/// See Intervention. `fresh` is a new id. False: the lock is not held, and `what` needs a holder.
[[nodiscard]] DOCLOCK_EXPORT bool Intervene(LockState& state, Intervention what, const Uuid& fresh,
                                            TimePoint now);

}  // namespace doclock::rules
