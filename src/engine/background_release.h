#pragma once

#include "engine/engine.h"

namespace doclock::detail {

/// Gives back a lock that nobody will use, or that may still be granted by a request under way:
/// tries until it succeeded, or until the lease it belongs to has ended. Body untouched.
void ReleaseInBackground(Engine& engine, Collection& collection, const Key& key,
                         const Uuid& lock_id, LockMode mode, TimePoint until);

}  // namespace doclock::detail
