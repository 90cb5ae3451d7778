#pragma once

#include "engine/calls/store_calls.h"

namespace doclock::detail {

/// May a request under way still be granted the lock, or enter the queue, under this id? Before the
/// lease has ended, it proves nothing then that the lock is not held.
enum class Ghost : bool { kNo, kYes };

/// Releases a granted lock that will not be used: tries until the lock is gone, or until its lease
/// has ended. Leaves the body alone. It leaves a mark of its own, so that no other procedure takes
/// it for the release that it looks for.
void ReleaseInBackground(StoreCalls& calls, Collection& collection, const Key& key,
                         const Uuid& lock_id, LockMode mode, TimePoint until,
                         Ghost ghost = Ghost::kNo) noexcept;

/// Removes a waiter's entry from the store's queue, and releases the lock if the waiter was granted
/// it meanwhile.
void LeaveInBackground(StoreCalls& calls, Collection& collection, const Key& key,
                       const Uuid& lock_id, TimePoint until, Ghost ghost = Ghost::kNo) noexcept;

}  // namespace doclock::detail
