#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "doclock/lock_provider.h"
#include "doclock/open_store.h"
#include "repository/support/fixtures.h"

namespace doclock::named {

class NamedTest : public VirtualTest {
 protected:
  /// As another process sees it.
  bool IsFree(const std::string& name) {
    return LockProvider(AnotherManager(), "jobs").TryAcquire(name).has_value();
  }

  LockProvider jobs{manager, "jobs"};
};

class NamedThreadsTest : public ThreadsTest {
 protected:
  LockProvider jobs{manager, "jobs"};
};

/// The text of the std::invalid_argument that `f` throws.
template <class F>
std::string RefusalOf(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace doclock::named
