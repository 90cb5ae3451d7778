#include "store_conformance.h"

namespace doclock::conformance {
namespace {

using Keys = std::vector<Key>;

TEST_P(StoreConformance, ASinkMayEndTheQuery) {
  for (int i = 0; i < 3; ++i) things_.Insert(i, {});
  int shown = 0;
  store().Query(
      things_.collection(), Filter(), [&](QueryRow&&) { return ++shown < 2; }, kBudget);
  EXPECT_EQ(shown, 2);
}

TEST_P(StoreConformance, HostileValuesAndNamesAreOnlyCompared) {
  const std::string hostile = "') OR 1=1; --";
  things_.Insert("1", {{"a'b\"c", hostile}, {"x", 1}});
  things_.Insert("2", {{"x", 2}});
  EXPECT_EQ(things_.Query(Filter().Equal("x", hostile)), Keys{});
  EXPECT_EQ(things_.Query(Filter().Equal("a'b\"c", hostile)), Keys{"1"});
  EXPECT_EQ(things_.Query(Filter().Equal("a[0]", 1)), Keys{});
  EXPECT_EQ(things_.Query(Filter().NotEqual("x", std::string("\0", 1))), (Keys{"1", "2"}));
}

TEST_P(StoreConformance, LargeIntegersCompareExactly) {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  things_.Insert("1", {{"n", big}});
  things_.Insert("2", {{"n", big + 1}});
  things_.Insert("3", {{"n", UINT64_MAX}});
  EXPECT_EQ(things_.Query(Filter().Equal("n", big)), Keys{"1"});
  EXPECT_EQ(things_.Query(Filter().Greater("n", big)), (Keys{"2", "3"}));
  EXPECT_EQ(things_.Query(Filter().Equal("n", UINT64_MAX)), Keys{"3"});
  EXPECT_EQ(things_.Query(Filter().Less("n", INT64_MAX)), (Keys{"1", "2"}));
}

}  // namespace
}  // namespace doclock::conformance
