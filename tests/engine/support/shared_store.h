#pragma once

#include "engine/support/harness.h"

namespace doclock::detail {

/// A store that other processes use too, and that keeps a queue.
class SharedStore : public TestStore {
 public:
  using TestStore::TestStore;
  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits = TestStore::traits();
    traits.shared = true;
    return traits;
  }
  [[nodiscard]] bool OthersMayWait(Collection&) const noexcept override { return true; }
};

}  // namespace doclock::detail
