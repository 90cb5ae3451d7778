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

/// A store that lives and dies with the process: for tests, and for locks between threads.
/// Everything the other stores do, it does, by the same rules.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMemoryStore(MemoryStoreOptions options = {});

}  // namespace doclock
