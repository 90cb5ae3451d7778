#include "doclock/filter.h"
#include "doclock/document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "doclock/json/key.h"

namespace doclock {
namespace {

using nlohmann::json;

template <class N>
constexpr bool kIsCount = requires(Filter filter, N count) {
  filter.Limit(count);
  Filter().Limit(count);
};
static_assert(kIsCount<int> && kIsCount<unsigned> && kIsCount<std::int64_t> &&
              kIsCount<std::size_t>);
static_assert(!kIsCount<double> && !kIsCount<float> && !kIsCount<bool> && !kIsCount<char>);

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Filter, TakesAKeyAsAValue) {
  const ObjectId id{{1, 2, 3}};
  const Uuid uuid{4, 5, 6};
  for (const Key& key : {Key("x"), Key(5), Key(id), Key(uuid)}) {
    EXPECT_TRUE(Filter{}.Equal("k", key).Matches({{"k", key}})) << key.ToString();
    EXPECT_TRUE(Filter{}.AtMost("_id", key).Matches(key, {})) << key.ToString();
    EXPECT_FALSE(Filter{}.NotEqual("_id", key).Matches(key, {})) << key.ToString();
  }
  EXPECT_EQ(Filter().After("x", Key(id)).after()->value, json(Key(id)));
  EXPECT_TRUE(Filter{}.Equal("k", {}).Matches({{"k", nullptr}}));
  EXPECT_TRUE(Filter{}
                  .Equal("k", {{"$date", {{"$numberLong", "5"}}}})
                  .Matches({{"k", {{"$date", {{"$numberLong", "5"}}}}}}));
}

TEST(Filter, RefusesBadArguments) {
  for (const char* field : {"", ".", "a.", ".a", "a..b", "$where", "\xff"}) {
    EXPECT_THROW((void)Filter{}.Equal(field, 1), std::invalid_argument) << field;
    EXPECT_THROW((void)Filter{}.OrderBy(field), std::invalid_argument) << field;
  }
  EXPECT_THROW((void)Filter{}.Equal(std::string_view("a\0b", 3), 1), std::invalid_argument);
  for (const json& value :
       {json::object(), json::array(), json::binary({1}), json(std::nan("")), json("\xff")}) {
    EXPECT_THROW((void)Filter{}.Equal("a", value), std::invalid_argument);
    EXPECT_THROW((void)Filter{}.AtMost("a", value), std::invalid_argument);
  }
  EXPECT_THROW((void)Filter{}.Limit(0), std::invalid_argument);
  EXPECT_THROW((void)Filter{}.Limit(-1), std::invalid_argument);
  EXPECT_THROW((void)Filter{}.OrderBy("a").OrderBy("b"), std::logic_error);
}

TEST(Filter, RemembersWhatItWasGiven) {
  const Filter filter = Filter{}.AtMost("a.b", 7).OrderByDescending("c.d").Limit(3).Free();
  ASSERT_EQ(filter.conditions().size(), 1U);
  EXPECT_EQ(filter.conditions()[0].path, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(filter.conditions()[0].op, Filter::Op::kAtMost);
  EXPECT_EQ(filter.order(), (std::vector<std::string>{"c", "d"}));
  EXPECT_TRUE(filter.descending());
  EXPECT_EQ(filter.limit(), 3);
  EXPECT_EQ(filter.lock_state(), Filter::LockState::kFree);
}

TEST(CompareValues, OrdersTypesAndValues) {
  const std::vector<json> ascending = {nullptr,
                                       -kInfinity,
                                       INT64_MIN,
                                       -1.5,
                                       -1,
                                       0,
                                       0.5,
                                       1,
                                       9007199254740992.0,
                                       9007199254740993,
                                       INT64_MAX,
                                       9223372036854775808.0,
                                       UINT64_MAX,
                                       kInfinity,
                                       "",
                                       "a",
                                       "b",
                                       "\xc3\xa4",
                                       false,
                                       true,
                                       json::array()};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      const int order = CompareValues(ascending[i], ascending[j]);
      EXPECT_EQ(order < 0, i < j) << ascending[i] << ' ' << ascending[j];
      EXPECT_EQ(order > 0, i > j) << ascending[i] << ' ' << ascending[j];
    }
  }
  EXPECT_EQ(CompareValues(json::array(), json::object()), 0);
  EXPECT_EQ(CompareValues(-0.0, 0), 0);
  EXPECT_EQ(CompareValues(1U, 1), 0);
}

TEST(Filter, RefusesAPathDeeperThanAnyBody) {
  std::string path = "a";
  for (int i = 1; i < kMaxBodyDepth; ++i) path += ".a";
  EXPECT_NO_THROW(Filter().Equal(path, 1).OrderBy(path));
  EXPECT_THROW(Filter().Equal(path + ".a", 1), std::invalid_argument);
  EXPECT_THROW(Filter().OrderBy(path + ".a"), std::invalid_argument);
}

}  // namespace
}  // namespace doclock
