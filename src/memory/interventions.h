#pragma once

#include "doclock/store.h"
#include "memory/memory_collection.h"

namespace doclock::memory {

/// See Store::Intervene.
void Intervene(MemoryCollection& collection, const Key& key, Intervention what, TimePoint now);

/// See Store::Purge.
std::int64_t Purge(MemoryCollection& collection, std::int64_t limit, TimePoint now);

}  // namespace doclock::memory
