#include "document/json/same_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace doclock::detail {
namespace {

using nlohmann::json;

/// Each is the same as itself only.
std::vector<json> Different() {
  constexpr std::int64_t kAbove = (std::int64_t{1} << 53) + 1;
  return {nullptr,
          false,
          true,
          0,
          0.0,
          -0.0,
          1,
          1.0,
          -1,
          kAbove,
          static_cast<double>(kAbove),
          INT64_MAX,
          static_cast<double>(INT64_MAX),
          INT64_MIN,
          UINT64_MAX,
          (std::uint64_t{1} << 63),
          std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN(),
          "",
          "1",
          json::array(),
          json::array({nullptr}),
          json::object(),
          {{"a", nullptr}},
          json::binary({1})};
}

TEST(SameJson, TellsEveryTwoValuesApart) {
  const std::vector<json> values = Different();
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      const json a = json::array({{{"in", values[i]}}}), b = json::array({{{"in", values[j]}}});
      EXPECT_EQ(IsSameJson(values[i], values[j]), i == j) << values[i] << " " << values[j];
      EXPECT_EQ(IsSameJson(a, b), i == j) << values[i] << " " << values[j] << " (nested)";
    }
  }
}

TEST(SameJson, KnowsOneKindOfWholeNumber) {
  EXPECT_TRUE(IsSameJson(5, 5U));
  EXPECT_TRUE(IsSameJson(5U, 5));
  EXPECT_TRUE(IsSameJson(json{{"a", {1, 2U}}}, json{{"a", {1U, 2}}}));
  EXPECT_FALSE(IsSameJson(-1, UINT64_MAX));
  EXPECT_FALSE(IsSameJson(UINT64_MAX, -1));
}

TEST(SameJson, ComparesWholeArraysAndObjects) {
  EXPECT_FALSE(IsSameJson(json::array({1}), json::array({1, 2})));
  EXPECT_FALSE(IsSameJson({{"a", 1}}, {{"a", 1}, {"b", 2}}));
  EXPECT_FALSE(IsSameJson({{"a", 1}}, {{"b", 1}}));
  EXPECT_TRUE(IsSameJson({{"a", {1, "x", {{"b", 1.5}}}}}, {{"a", {1, "x", {{"b", 1.5}}}}}));
}

}  // namespace
}  // namespace doclock::detail
