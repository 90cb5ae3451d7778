#include "store_conformance.h"

namespace doclock::conformance {
namespace {

using Keys = std::vector<Key>;

/// Documents of every kind of value under "v".
class QueryConformance {
 public:
  explicit QueryConformance(Client& things) : things_(things) {
    const std::vector<std::pair<std::string, Json>> values{
        {"a-int", 1},      {"b-double", 1.5}, {"c-big", 10},      {"d-text", "abc"},
        {"e-more", "abd"}, {"f-true", true},  {"g-false", false}, {"h-null", nullptr}};
    for (const auto& [key, value] : values) things.Insert(key, {{"v", value}});
    things.Insert("i-missing", Json::object());
  }
  Keys operator()(const Filter& filter) { return things_.Query(filter); }

 private:
  Client& things_;
};

TEST_P(StoreConformance, AQueryWithoutConditionsShowsAllByKey) {
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter()), (Keys{"a-int", "b-double", "c-big", "d-text", "e-more", "f-true",
                                   "g-false", "h-null", "i-missing"}));
}

TEST_P(StoreConformance, EqualComparesWithinTheType) {
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter().Equal("v", 1)), Keys{"a-int"});
  EXPECT_EQ(query(Filter().Equal("v", 1.0)), Keys{"a-int"});
  EXPECT_EQ(query(Filter().Equal("v", "1")), Keys{});
  EXPECT_EQ(query(Filter().Equal("v", "abc")), Keys{"d-text"});
  EXPECT_EQ(query(Filter().Equal("v", true)), Keys{"f-true"});
  EXPECT_EQ(query(Filter().Equal("v", false)), Keys{"g-false"});
  EXPECT_EQ(query(Filter().Equal("v", 0)), Keys{});
}

TEST_P(StoreConformance, AMissingFieldEqualsNull) {
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter().Equal("v", nullptr)), (Keys{"h-null", "i-missing"}));
  EXPECT_EQ(query(Filter().NotEqual("v", nullptr)),
            (Keys{"a-int", "b-double", "c-big", "d-text", "e-more", "f-true", "g-false"}));
}

TEST_P(StoreConformance, NotEqualHoldsForOtherTypesAndMissingFields) {
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter().NotEqual("v", 1)), (Keys{"b-double", "c-big", "d-text", "e-more",
                                                    "f-true", "g-false", "h-null", "i-missing"}));
}

TEST_P(StoreConformance, RangesHoldWithinTheTypeOnly) {
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter().Less("v", 10)), (Keys{"a-int", "b-double"}));
  EXPECT_EQ(query(Filter().AtMost("v", 10)), (Keys{"a-int", "b-double", "c-big"}));
  EXPECT_EQ(query(Filter().Greater("v", 1)), (Keys{"b-double", "c-big"}));
  EXPECT_EQ(query(Filter().AtLeast("v", 1)), (Keys{"a-int", "b-double", "c-big"}));
  EXPECT_EQ(query(Filter().Less("v", "abd")), Keys{"d-text"});
  EXPECT_EQ(query(Filter().AtLeast("v", "")), (Keys{"d-text", "e-more"}));
  EXPECT_EQ(query(Filter().Less("v", true)), Keys{"g-false"});
  EXPECT_EQ(query(Filter().AtMost("v", true)), (Keys{"f-true", "g-false"}));
}

TEST_P(StoreConformance, AllConditionsMustHold) {
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter().Greater("v", 1).Less("v", 10)), Keys{"b-double"});
  EXPECT_EQ(query(Filter().Greater("v", 1).Equal("v", "abc")), Keys{});
}

TEST_P(StoreConformance, OrderGoesByTypeThenValueThenKey) {
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter().OrderBy("v")), (Keys{"h-null", "i-missing", "a-int", "b-double", "c-big",
                                                "d-text", "e-more", "g-false", "f-true"}));
  EXPECT_EQ(query(Filter().OrderByDescending("v")),
            (Keys{"f-true", "g-false", "e-more", "d-text", "c-big", "b-double", "a-int", "h-null",
                  "i-missing"}));
}

TEST_P(StoreConformance, AnIndexChangesNothingButSpeed) {
  store().EnsureIndex(things_.collection(), {{"v"}, false});
  store().EnsureIndex(things_.collection(), {{"v"}, false});
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter().OrderBy("v")), (Keys{"h-null", "i-missing", "a-int", "b-double", "c-big",
                                                "d-text", "e-more", "g-false", "f-true"}));
  EXPECT_EQ(query(Filter().OrderByDescending("v")),
            (Keys{"f-true", "g-false", "e-more", "d-text", "c-big", "b-double", "a-int", "h-null",
                  "i-missing"}));
  EXPECT_EQ(query(Filter().AtLeast("v", 1).Less("v", 10).OrderByDescending("v")),
            (Keys{"b-double", "a-int"}));
  EXPECT_EQ(query(Filter().Equal("v", nullptr)), (Keys{"h-null", "i-missing"}));
  EXPECT_EQ(query(Filter().Greater("v", 10).Less("v", 1).OrderBy("v")), Keys{});
}

TEST_P(StoreConformance, SeveralIndexesChangeNothingButSpeed) {
  store().EnsureIndex(things_.collection(), {{"other"}});
  store().EnsureIndex(things_.collection(), {{"v"}});
  QueryConformance query(things_);
  const Keys down = {"f-true",   "g-false", "e-more", "d-text",   "c-big",
                     "b-double", "a-int",   "h-null", "i-missing"};
  EXPECT_EQ(query(Filter().OrderByDescending("v")), down);
  EXPECT_EQ(query(Filter().Equal("other", nullptr).OrderByDescending("v")), down);
  EXPECT_EQ(query(Filter().OrderByDescending("v").Limit(1)), Keys{"f-true"});
  EXPECT_EQ(query(Filter().OrderByDescending("v").Limit(2)), (Keys{"f-true", "g-false"}));
}

TEST_P(StoreConformance, ALimitCutsTheOrderedList) {
  QueryConformance query(things_);
  EXPECT_EQ(query(Filter().OrderBy("v").Limit(3)), (Keys{"h-null", "i-missing", "a-int"}));
  EXPECT_EQ(query(Filter().Limit(2)), (Keys{"a-int", "b-double"}));
}

TEST_P(StoreConformance, ASinkMayEndTheQuery) {
  QueryConformance fill(things_);
  int shown = 0;
  store().Query(
      things_.collection(), Filter(), [&](QueryRow&&) { return ++shown < 2; }, kBudget);
  EXPECT_EQ(shown, 2);
}

TEST_P(StoreConformance, DotsLeadIntoNestedObjects) {
  things_.Insert("1", {{"a", {{"b", {{"c", 5}}}}}});
  things_.Insert("2", {{"a", {{"b", 5}}}});
  things_.Insert("3", {{"a", 5}});
  EXPECT_EQ(things_.Query(Filter().Equal("a.b.c", 5)), Keys{"1"});
  EXPECT_EQ(things_.Query(Filter().Equal("a.b", 5)), Keys{"2"});
  EXPECT_EQ(things_.Query(Filter().Equal("a.b.c", nullptr)), (Keys{"2", "3"}));
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

TEST_P(StoreConformance, QueriesTellFreeFromLocked) {
  things_.Insert("free", Json::object());
  things_.Create("expired", Json::object(), {.ttl = 1s});
  things_.Create("locked", Json::object(), {.ttl = 60s});
  clock().Advance(1s);
  EXPECT_EQ(things_.Query(Filter()).size(), 3U);
  EXPECT_EQ(things_.Query(Filter().Free()), (Keys{"expired", "free"}));
  EXPECT_EQ(things_.Query(Filter().Locked()), Keys{"locked"});
}

TEST_P(StoreConformance, RowsShowVersionLifeAndLock) {
  const SaveOp insert = things_.Insert("1", {{"a", 1}});
  const AcquireOp grant = things_.Acquire("1");
  const auto rows = things_.Rows(Filter());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].key, Key("1"));
  EXPECT_EQ(rows[0].version, grant.version);
  EXPECT_EQ(rows[0].born, insert.born);
  EXPECT_TRUE(rows[0].locked);
  EXPECT_EQ(rows[0].body.json(), Json({{"a", 1}}));
}

}  // namespace
}  // namespace doclock::conformance
