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

StoreConformance::StoreConformance() : backend_(GetParam().make()), things_(backend_.store) {}

const OpDetail& DetailOf(const StoreOp& op) {
  static const OpDetail none;
  EXPECT_TRUE(op.detail) << "a result that is " << ::testing::PrintToString(op.status)
                         << " lacks its detail";
  return op.detail ? *op.detail : none;
}

std::string NameOf(const ::testing::TestParamInfo<StoreKind>& kind) { return kind.param.name; }

INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace doclock::conformance
