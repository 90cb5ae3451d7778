#pragma once

#include "engine/engine.h"

namespace doclock::detail {

/// Releases a granted lock that will not be used: tries until the lock is gone, or until its lease
/// has ended. Leaves the body alone. It leaves a mark of its own, so that no other procedure takes
/// it for the release that it looks for.
void ReleaseInBackground(Engine& engine, Collection& collection, const Key& key,
                         const Uuid& lock_id, LockMode mode, TimePoint until) noexcept;

/// The same for a lock that a request under way may still be granted: before the lease has ended,
/// it proves nothing that the lock is not held.
void ReleaseGhostInBackground(Engine& engine, Collection& collection, const Key& key,
                              const Uuid& lock_id, LockMode mode, TimePoint until) noexcept;

/// Removes a waiter's entry from the store's queue, and releases the lock if the waiter was granted
/// it meanwhile.
void LeaveInBackground(Engine& engine, Collection& collection, const Key& key, const Uuid& lock_id,
                       TimePoint until) noexcept;

/// The same for an id that a request under way may still enter, or be granted the lock by.
void LeaveGhostInBackground(Engine& engine, Collection& collection, const Key& key,
                            const Uuid& lock_id, TimePoint until) noexcept;

}  // namespace doclock::detail
