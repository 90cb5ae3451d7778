#pragma once

#include <span>

#include "locking/database.h"

namespace doclock::memory {

/// Stores decided changes, all or none, while the shards of their documents are locked. If a unique
/// index refuses one, that one has its outcome, and nothing has changed; so it is where this
/// throws.
void StoreAll(std::span<locking::Change> changes);

}  // namespace doclock::memory
