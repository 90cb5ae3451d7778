#include "conformance/store_conformance.h"
#include "doclock/memory_store.h"

namespace doclock::conformance {
namespace {

Backend MakeMemory() {
  Backend backend;
  backend.clock = std::make_shared<ManualClock>();
  backend.store = OpenMemoryStore({.clock = backend.clock});
  return backend;
}

}  // namespace

std::vector<StoreKind> AllStores() { return {{"Memory", MakeMemory}}; }

}  // namespace doclock::conformance
