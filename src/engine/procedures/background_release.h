#pragma once

#include "engine/engine.h"

namespace doclock::detail {

/// Gives back a lock that was granted and will not be used: tries until it is gone, or until the
/// lease it belongs to has ended. Body untouched. The mark it leaves is its own, so that no
/// procedure takes it for the release that it is looking for.
void ReleaseInBackground(Engine& engine, Collection& collection, const Key& key,
                         const Uuid& lock_id, LockMode mode, TimePoint until);

/// The same for a lock that may still be granted by a request under way: that it is not held proves
/// nothing before the lease has ended.
void ReleaseGhostInBackground(Engine& engine, Collection& collection, const Key& key,
                              const Uuid& lock_id, LockMode mode, TimePoint until);

}  // namespace doclock::detail
