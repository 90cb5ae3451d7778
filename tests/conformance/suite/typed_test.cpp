#include <array>

#include "doclock/json/bson.h"
#include "doclock/json/uuid.h"
#include "store_conformance.h"
#include "typed_values.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, PeoplesTypesComeBackAsTheyWere) {
  const Json tree{{"date", At(1'700'000'000'123)},
                  {"before 1970", At(-1)},
                  {"binary", Binary{{0, 1, 255}, 0}},
                  {"uuid", Binary::FromUuid(FreshId())},
                  {"nothing", Binary{}},
                  {"own", Binary{{9}, 200}},
                  {"oid", Oid(1)},
                  {"price", Decimal128("12.50")},
                  {"tiny", Decimal128("-1E-6176")},
                  {"nan", Decimal128("NaN")},
                  {"list", {At(1), Oid(2), {{"deep", Decimal128("1E+3")}}}}};
  ASSERT_EQ(things_.Insert("42", tree).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").result.body.json(), tree);
  const AcquireOp grant = things_.Acquire("42");
  Json changed = tree;
  changed["date"] = At(5);
  ASSERT_EQ(things_.Release("42", grant, MakeBody(changed)).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").result.body.json(), changed);
}

TEST_P(StoreConformance, WhatOnlyLooksLikeATypedValueStaysAnObject) {
  const Json tree{{"bad date", {{"$date", "yesterday"}}},
                  {"short date", {{"$date", {{"$numberLong", 5}}}}},
                  {"padded date", {{"$date", {{"$numberLong", "05"}}}}},
                  {"iso date", {{"$date", "2020-01-01T00:00:00Z"}}},
                  {"upper", {{"$oid", "AB0000000000000000000000"}}},
                  {"loose", {{"$numberDecimal", "01.0"}}},
                  {"old regex", {{"$regex", ".*"}, {"$options", "i"}}},
                  {"old binary", {{"$binary", "AAAA"}, {"$type", "00"}}},
                  {"where", {{"$where", "return true"}}},
                  {"more", {{"$date", {{"$numberLong", "5"}}}, {"x", 1}}}};
  ASSERT_EQ(things_.Insert("42", tree).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").result.body.json(), tree);
}

TEST_P(StoreConformance, DatesAreFoundByTime) {
  for (const std::int64_t ms : {-5, 3, 20, 100}) things_.Insert(ms, {{"due", At(ms)}});
  things_.Insert("text", {{"due", "3"}});
  things_.Insert("number", {{"due", 3}});
  things_.Insert("none", Json::object());
  using KeyList = std::vector<Key>;
  EXPECT_EQ(things_.Query(Filter{}.Equal("due", At(3))), (KeyList{3}));
  EXPECT_EQ(things_.Query(Filter{}.AtMost("due", At(20))), (KeyList{-5, 3, 20}));
  EXPECT_EQ(things_.Query(Filter{}.Less("due", At(20)).Greater("due", At(-5))), (KeyList{3}));
  EXPECT_EQ(things_.Query(Filter{}.AtLeast("due", At(100))), (KeyList{100}));
  EXPECT_EQ(things_.Query(Filter{}.Equal("due", 3)), (KeyList{"number"}));
  EXPECT_EQ(things_.Query(Filter{}.NotEqual("due", At(3))).size(), 6U);
}

TEST_P(StoreConformance, TypedValuesHaveTheirPlaceInTheOrder) {
  const std::vector<Json> values{
      nullptr, 7,       "text",           true,           At(-5),
      At(3),   At(100), Binary{{255}, 0}, Binary{{1}, 4}, Binary{{0, 0}, 0},
      Oid(1),  Oid(2),  Json{{"a", 1}}};
  std::vector<Key> expected;
  for (std::size_t i = 0; i < values.size(); ++i) expected.emplace_back(i);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t n = (i * 5 + 3) % values.size();
    ASSERT_EQ(things_.Insert(n, {{"v", values[n]}}).status, OpStatus::kDone);
  }
  EXPECT_EQ(things_.Query(Filter{}.OrderBy("v")), expected);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(things_.Query(Filter{}.OrderByDescending("v")), expected);
  store().EnsureIndex(things_.collection(), {{"v"}});
  EXPECT_EQ(things_.Query(Filter{}.OrderByDescending("v")), expected);
}

TEST_P(StoreConformance, TheNextDueDocumentIsTheOneWithTheEarliestDate) {
  store().EnsureIndex(things_.collection(), {{"due"}});
  for (const std::int64_t ms : std::vector<std::int64_t>{500, 30, 2'000'000'000'000, 4})
    things_.Insert(ms, {{"due", At(ms)}});
  const Filter due = Filter{}.AtMost("due", At(1000)).OrderBy("due");
  EXPECT_EQ(things_.AcquireNext(due).key, Key(4));
  EXPECT_EQ(things_.AcquireNext(due).key, Key(30));
  EXPECT_EQ(things_.AcquireNext(due).key, Key(500));
  EXPECT_EQ(things_.AcquireNext(due).status, OpStatus::kMissing);
}

TEST_P(StoreConformance, DecimalsBinariesAndObjectIdsAreFoundByValue) {
  things_.Insert(1, {{"price", Decimal128("9.5")}, {"who", Oid(1)}, {"hash", Binary{{1, 2}, 0}}});
  things_.Insert(2, {{"price", Decimal128("10.00")}, {"who", Oid(2)}, {"hash", Binary{{1, 3}, 0}}});
  things_.Insert(3, {{"price", Decimal128("1E+1")}, {"who", Oid(3)}, {"hash", Binary{{1, 3}, 5}}});
  using KeyList = std::vector<Key>;
  EXPECT_EQ(things_.Query(Filter{}.Equal("price", Decimal128("10"))), (KeyList{2, 3}));
  EXPECT_EQ(things_.Query(Filter{}.Less("price", Decimal128("10"))), (KeyList{1}));
  EXPECT_EQ(things_.Query(Filter{}.Equal("who", Oid(2))), (KeyList{2}));
  EXPECT_EQ(things_.Query(Filter{}.Greater("who", Oid(1))), (KeyList{2, 3}));
  EXPECT_EQ(things_.Query(Filter{}.Equal("hash", Binary{{1, 3}, 0})), (KeyList{2}));
  EXPECT_EQ(things_.Query(Filter{}.OrderByDescending("price").Limit(2)), (KeyList{2, 3}));
}

}  // namespace
}  // namespace doclock::conformance
