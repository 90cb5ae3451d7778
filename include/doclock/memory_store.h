#pragma once

#include <memory>

#include "doclock/clock.h"
#include "doclock/export.h"
#include "doclock/store.h"

namespace doclock {

/// How a memory store works.
struct MemoryStoreOptions {
  /// Where it reads the time from; null means the real clock.
  std::shared_ptr<const Clock> clock = nullptr;
};

/// Opens a store in the memory of this process: for tests, and for locks between threads. It does
/// everything that the other stores do, by the same rules.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMemoryStore(MemoryStoreOptions options = {});

}  // namespace doclock
