#pragma once

#include "engine/support/harness.h"

namespace doclock::detail {

/// A store that other processes use too, and that keeps a queue.
class SharedStore : public TestStore {
 public:
  using TestStore::TestStore;
  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits = TestStore::traits();
    traits.shared = traits.others_may_wait = true;
    return traits;
  }
};

}  // namespace doclock::detail
