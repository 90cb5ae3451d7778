#include "store_conformance.h"

namespace doclock::conformance {

StoreConformance::StoreConformance()
    : backend_(GetParam().make()), things_(Open(*backend_.store, "things")) {}

Client StoreConformance::Open(Store& store, const std::string& name) {
  return {store, store.Open(name, {}, kTtl)};
}

std::string NameOf(const ::testing::TestParamInfo<StoreKind>& kind) { return kind.param.name; }

INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace doclock::conformance
