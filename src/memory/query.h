#pragma once

#include <functional>

#include "doclock/filter.h"
#include "doclock/store.h"
#include "memory/memory_collection.h"

namespace doclock::memory {

/// See Store::Query.
void Query(MemoryCollection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, TimePoint now);

/// See Store::AcquireNext.
void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, TimePoint now);

}  // namespace doclock::memory
