#include "store_conformance.h"

#include <algorithm>
#include <cmath>

namespace doclock::conformance {
namespace {

/// A number as `numeric` keeps it.
Json AsNumeric(double number) {
  constexpr double kWrittenInFull = 1e15;
  if (number == 0) return 0.0;
  if (std::abs(number) < kWrittenInFull || std::trunc(number) != number) return number;
  if (std::abs(number) < 0x1p63) return static_cast<std::int64_t>(number);
  return number > 0 && number < 0x1p64 ? Json(static_cast<std::uint64_t>(number)) : Json(number);
}

}  // namespace

Json Backend::Kept(Json value) const {
  if (keeps_all_json) return value;
  if (auto* const text = value.get_ptr<std::string*>()) {
    std::ranges::replace(*text, '\0', '\2');
  } else if (value.is_number_float()) {
    value = AsNumeric(value.get<double>());
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
