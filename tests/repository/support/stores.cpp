#include "repository/support/harness.h"

namespace doclock {
namespace {

/// A store that other processes use too and may wait for. Its calls may block.
class SharedMemory : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits = FaultyStore::traits();
    traits.shared = traits.others_may_wait = traits.reads_apart = true;
    traits.immediate = false;
    return traits;
  }
};

std::shared_ptr<Store> OpenMemory(std::shared_ptr<const Clock> clock) {
  return OpenMemoryStore({.clock = std::move(clock)});
}
std::shared_ptr<Store> OpenShared(std::shared_ptr<const Clock> clock) {
  return std::make_shared<SharedMemory>(OpenMemory(std::move(clock)));
}

}  // namespace

std::vector<StoreKind> AllStores() { return {{"Memory", OpenMemory}, {"Shared", OpenShared}}; }

}  // namespace doclock
