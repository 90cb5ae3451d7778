#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "conformance/suite/store_conformance.h"
#include "doclock/json/bson.h"
#include "doclock/stores/postgresql.h"
#include "document/json/row_filter.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using conformance::Client;
using conformance::kTtl;
using nlohmann::json;

constexpr std::int64_t k53 = std::int64_t{1} << 53;

json LongOf(const char* digits) { return {{"$date", {{"$numberLong", digits}}}}; }

/// Of each type, and what only looks like it.
std::vector<json> Values() {
  return {nullptr,
          0,
          1,
          -1,
          1.0,
          1.5,
          -1.5,
          0.1,
          -0.0,
          1e300,
          -1e300,
          5e-324,
          k53 - 1,
          -k53 + 1,
          k53,
          k53 + 1,
          k53 + 2,
          -k53 - 1,
          static_cast<double>(k53),
          1.2345678901234568e18,
          1234567890123456790,
          1234567890123456700,
          1234567890123456768,
          UINT64_MAX,
          INT64_MIN,
          9223372036854775807.0,
          "",
          "a",
          "B",
          "b",
          "ab",
          "a b",
          "\u00e4",
          "\u20ac",
          "1",
          "null",
          std::string("\0", 1),
          "\1",
          "\2",
          std::string(600, 'a'),
          std::string(600, 'b'),
          true,
          false,
          LongOf("0"),
          LongOf("9"),
          LongOf("10"),
          LongOf("-1"),
          LongOf("-10"),
          LongOf("9223372036854775807"),
          LongOf("-9223372036854775808"),
          LongOf("007"),
          LongOf("-0"),
          LongOf("9223372036854775808"),
          json({{"$date", {{"$numberLong", "5"}, {"x", 1}}}}),
          json({{"$date", {{"$numberLong", "5"}}}, {"x", 1}}),
          json::array({5}),
          json::array({5, 6}),
          json::array(),
          json::object(),
          json({{"a", 1}}),
          Binary::FromUuid(NewUuid()),
          Decimal128("1.5"),
          ObjectId{}};
}

/// Two documents of each value, with keys in no order, and some that lack it.
class PostgresqlStoreOrder : public ::testing::Test {
 protected:
  PostgresqlStoreOrder() {
    std::vector<json> bodies(4, json::object());
    for (const json& value : values_) {
      bodies.push_back({{"v", value}});
      bodies.push_back({{"v", value}, {"state", "new"}});
    }
    std::ranges::shuffle(bodies, random_);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      i % 2 == 0 ? things_.Insert(Key("k" + std::to_string(i)), bodies[i])
                 : things_.Insert(Key(static_cast<std::int64_t>(i)), bodies[i]);
    }
    all_ = things_.Rows(Filter());
  }

  std::vector<Key> Locally(const Filter& filter) {
    std::vector<Key> keys;
    const auto scan = [&](FirstRows& rows) {
      for (const QueryRow& row : all_) rows.Show({row.key, row.body, row.version, row.born, false});
    };
    VisitInOrder(filter, kPageRows, scan, [&](QueryRow&& row) {
      keys.push_back(row.key);
      return true;
    });
    return keys;
  }
  std::size_t Below(std::size_t count) { return random_() % count; }
  const json& AValue() { return values_[Below(values_.size())]; }

  /// With an order, and perhaps conditions, a position and a limit.
  Filter AFilter() {
    Filter filter;
    if (Below(3) == 0) filter.Equal("state", "new");
    const json& value = AValue();
    const bool compares = !value.is_structured() || RankOfTyped(value);
    if (Below(2) == 0 && compares) {
      const std::size_t op = Below(5);
      op == 0   ? filter.Equal("v", value)
      : op == 1 ? filter.NotEqual("v", value)
      : op == 2 ? filter.Less("v", value)
      : op == 3 ? filter.AtMost("v", value)
                : filter.AtLeast("v", value);
    }
    Below(2) == 0 ? filter.OrderBy("v") : filter.OrderByDescending("v");
    const QueryRow& row = all_[Below(all_.size())];
    if (Below(2) == 0) filter.After(row.key, ValueAt(row.body.json(), {"v"}));
    if (Below(3) == 0) filter.Limit(static_cast<std::int64_t>(1 + Below(20)));
    return filter;
  }
  void Compare() {
    for (int i = 0; i < 150; ++i) {
      const Filter filter = AFilter();
      ASSERT_EQ(things_.Query(filter), Locally(filter)) << "filter " << i;
    }
  }
  /// As searches for the next document go on, which see no more of a number than a double has.
  void CompareInPages() {
    for (const bool down : {false, true}) {
      Filter filter;
      down ? filter.OrderByDescending("v") : filter.OrderBy("v");
      const std::vector<Key> expected = Locally(filter);
      std::vector<Key> shown;
      for (Filter page = Filter(filter).Limit(3); shown.size() <= expected.size();) {
        const std::vector<QueryRow> rows = things_.Rows(page);
        if (rows.empty()) break;
        for (const QueryRow& row : rows) shown.push_back(row.key);
        page.After(rows.back().key, ValueAt(rows.back().body.json(), {"v"}));
      }
      EXPECT_EQ(shown, expected);
    }
  }

 private:
  static bool RankOfTyped(const json& value) {
    try {
      Filter().Equal("v", value);
    } catch (const std::invalid_argument&) {
      return false;
    }
    return true;
  }

  std::mt19937 random_{std::random_device()()};
  const std::vector<json> values_ = Values();

 protected:
  Schema schema_;
  const std::shared_ptr<Store> store_ = OpenPostgresqlStore(schema_.url());
  Client things_{store_};
  std::vector<QueryRow> all_;
};

TEST_F(PostgresqlStoreOrder, IsThatOfTheLibrary) { Compare(); }

TEST_F(PostgresqlStoreOrder, IsTheSameWithAnIndex) {
  things_.EnsureIndex({.fields = {"state", "v"}});
  things_.EnsureIndex({.fields = {"v"}});
  Compare();
}

TEST_F(PostgresqlStoreOrder, GoesOnBehindAValueThatNoDocumentHas) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const json& value : {json("\xff"), json("a\xff"), json(infinity), json(-infinity)}) {
    const Filter filter = Filter().OrderBy("v").After("k", value);
    EXPECT_EQ(things_.Query(filter), Locally(filter));
  }
}

TEST_F(PostgresqlStoreOrder, ShowsEachDocumentOnceInPages) { CompareInPages(); }

TEST_F(PostgresqlStoreOrder, IsThatOfDoublesForWhatOthersWrote) {
  schema_.raw().Run(
      "INSERT INTO doclock_c_things(key_text, body) SELECT key,"
      " jsonb_build_object('v', value::numeric) FROM (VALUES ('p0', '0.3333333333333333'),"
      " ('p1', '0.33333333333333333333'), ('p2', '0.33333333333333333333'),"
      " ('p3', '0.33333333333333333334'), ('p9', '0.3333333333333333'), ('q', '7.00')) t(key, "
      "value)");
  all_ = things_.Rows(Filter());
  CompareInPages();
}

}  // namespace
}  // namespace doclock::postgresql_test
