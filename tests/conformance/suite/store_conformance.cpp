#include "store_conformance.h"

#include <algorithm>

namespace doclock::conformance {
Json Backend::Kept(Json value) const {
  if (keeps_all_json) return value;
  if (auto* const text = value.get_ptr<std::string*>()) {
    std::ranges::replace(*text, '\0', '\2');
  } else if (value == 0.0 && value.is_number_float()) {
    value = 0.0;
  } else if (value.is_structured()) {
    for (Json& member : value) member = Kept(std::move(member));
  }
  return value;
}

StoreConformance::StoreConformance()
    : backend_(GetParam().make()), things_(Open(*backend_.store, "things")) {}

Client StoreConformance::Open(Store& store, const std::string& name) {
  return {store, store.Open(name, {}, kTtl)};
}

std::string NameOf(const ::testing::TestParamInfo<StoreKind>& kind) { return kind.param.name; }

INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace doclock::conformance
