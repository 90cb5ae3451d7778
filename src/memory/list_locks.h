#pragma once

#include <string>

#include "doclock/store.h"
#include "memory/memory_collection.h"

namespace doclock::memory {

/// See Store::ListLocks. A page is a shard; `after` is its number.
LockPage ListLocks(MemoryCollection& collection, const LockQuery& query, const std::string& after,
                   TimePoint now);

}  // namespace doclock::memory
