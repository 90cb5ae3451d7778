// How filters become SQL: indexes are used, and never change what is found.

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "doclock/json/bson.h"
#include "doclock/json_types.h"
#include "doclock/time.h"
#include "sqlite/query/search.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::json LongOf(const char* digits) { return {{"$date", {{"$numberLong", digits}}}}; }

class SqliteIndexes : public SqliteTest {
 protected:
  std::vector<std::string> SelectsOf(const Filter& filter) {
    sqlite::Connection connection(file_, /*create=*/false);
    connection.SetDeadline(sqlite::Deadline::max(), sqlite::Deadline::max());
    const sqlite::SqliteCollection collection("things", {}, 30s, 0);
    return sqlite::SearchSql(connection, collection, filter);
  }
  std::string PlanOf(const Filter& filter) {
    std::string plan;
    for (const std::string& sql : SelectsOf(filter)) {
      plan += RawDatabase(file_).Text("EXPLAIN QUERY PLAN " + sql) + "\n";
    }
    return plan;
  }
  std::vector<std::string> Keys(const Filter& filter) {
    std::vector<std::string> keys;
    client_.store().Query(
        client_.collection(), filter,
        [&](QueryRow&& row) {
          keys.push_back(row.key.ToString());
          return true;
        },
        kBudget);
    return keys;
  }
  /// How often a search shows each key.
  std::map<std::string, int> Visits(const Filter& filter) {
    sqlite::Connection connection(file_, /*create=*/false);
    connection.SetDeadline(sqlite::Deadline::max(), sqlite::Deadline::max());
    const auto coordinator = sqlite::ProcessCoordinator::Open(file_, sqlite::DeadlineIn(10s));
    const sqlite::SqliteCollection collection("things", {}, 30s, 0);
    const sqlite::StoreContext context{*SystemClock(), *coordinator, {}, 0};
    sqlite::LockReader reader(connection, context);
    std::map<std::string, int> visits;
    sqlite::Search(connection, reader, collection, filter, [&](QueryRow&& found) {
      ++visits[found.key.ToString()];
      return true;
    });
    return visits;
  }

  Client client_{file_, {.sync = SqliteSync::kOff}};
};

TEST_F(SqliteIndexes, AreUsedForConditionsAndOrder) {
  client_.EnsureIndex({.fields = {"status", "due"}});
  client_.EnsureIndex({.fields = {"status", "due"}});
  const Filter filter = Filter().Equal("status", "queued").AtMost("due", 5).OrderBy("due");
  const std::string plan = PlanOf(filter);
  EXPECT_NE(
      plan.find("USING INDEX doclock_i_things:status,due (<expr>=? AND <expr>>? AND <expr><?)"),
      std::string::npos)
      << plan;
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;
}

TEST_F(SqliteIndexes, AreUsedForTheOrderOfDates) {
  client_.EnsureIndex({.fields = {"status", "due"}});
  const Filter filter =
      Filter().Equal("status", "queued").AtMost("due", Date::Now()).OrderBy("due");
  EXPECT_THAT(SelectsOf(filter), ElementsAre(HasSubstr(" ORDER BY ")));
  EXPECT_THAT(PlanOf(filter), AllOf(HasSubstr("(<expr>=? AND <expr>>? AND <expr><?)"),
                                    Not(HasSubstr("TEMP B-TREE"))));
}

/// Of each type, and what only looks like it.
TEST_F(SqliteIndexes, HaveTheOrderOfTheLibrary) {
  using nlohmann::json;
  using namespace std::string_literals;
  constexpr std::int64_t k53 = std::int64_t{1} << 53;
  const std::vector<json> in_order = {
      nullptr,
      json(-1e300),
      json(INT64_MIN),
      json(-k53 - 1),
      json(-1.5),
      json(0),
      json(5e-324),
      json(0.1),
      json(1),
      json(k53),
      json(k53 + 1),
      json(k53 + 2),
      json(INT64_MAX),
      json(UINT64_MAX - 1),
      json(UINT64_MAX),
      json(1e300),
      json(""),
      json("\0"s),
      json("\1"),
      json("1"),
      json("[5]"),
      json("a"),
      json("b"),
      json("{}"),
      json("\u20ac"),
      json(false),
      json(true),
      LongOf("-9223372036854775808"),
      LongOf("-10"),
      LongOf("-1"),
      LongOf("0"),
      LongOf("9"),
      LongOf("10"),
      LongOf("9223372036854775807"),
      json(Binary::FromUuid(NewUuid())),
      json(ObjectId{}),
      json(Decimal128("1.5")),
      // Among each other these have no order but that of their keys.
      LongOf("9223372036854775808"),
      LongOf("007"),
      LongOf("-0"),
      json({{"$date", {{"$numberLong", "5"}, {"x", 1}}}}),
      json::array(),
      json::array({5}),
      json::object(),
  };
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < in_order.size(); ++i) keys.push_back(std::to_string(100 + i));
  for (std::size_t i = in_order.size(); i-- > 0;) {
    client_.Insert(keys[i], json{{"v", in_order[i]}}.dump());
  }
  for (const bool indexed : {false, true}) {
    if (indexed) client_.EnsureIndex({.fields = {"v"}});
    for (const std::size_t limit : {std::size_t{1}, std::size_t{4}, keys.size() + 1}) {
      Filter page = Filter().OrderBy("v").Limit(static_cast<std::int64_t>(limit));
      std::vector<std::string> shown = Keys(page);
      for (std::size_t count = 0; shown.size() > count;) {
        count = shown.size();
        page.After(shown.back(), in_order.at(std::stoul(shown.back()) - 100));
        for (std::string& key : Keys(page)) shown.push_back(std::move(key));
      }
      EXPECT_EQ(shown, keys) << limit;
    }
  }
}

TEST_F(SqliteIndexes, AreUsedForOrderAfterABoolean) {
  client_.EnsureIndex({.fields = {"done", "due"}});
  const Filter filter = Filter().Equal("done", false).AtMost("due", 5).OrderBy("due");
  const std::string plan = PlanOf(filter);
  EXPECT_NE(plan.find("USING INDEX doclock_i_things:done,due (<expr>=? AND <expr>>? AND <expr><?)"),
            std::string::npos)
      << plan;
  EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << plan;

  client_.Insert("1", R"({"done":true,"due":1})");
  client_.Insert("2", R"({"done":false,"due":3})");
  client_.Insert("3", R"({"done":0,"due":1})");
  client_.Insert("4", R"({"done":false,"due":2})");
  EXPECT_EQ(Keys(filter), (std::vector<std::string>{"4", "2"}));
}

TEST_F(SqliteIndexes, AreUsedForNestedFieldsWithStrangeNames) {
  client_.EnsureIndex({.fields = {"it's.a \xE2\x82\xAC.B"}});
  client_.Insert("1", "{\"it's\":{\"a \xE2\x82\xAC\":{\"B\":7}}}");
  const Filter filter = Filter().Equal("it's.a \xE2\x82\xAC.B", 7);
  EXPECT_NE(PlanOf(filter).find("USING INDEX"), std::string::npos) << PlanOf(filter);
  EXPECT_EQ(Keys(filter), std::vector<std::string>{"1"});
}

/// Which keys a collection holds besides changes nothing, and no keys cost the index its use.
TEST_F(SqliteIndexes, KeysOfSeveralKindsHaveOneOrder) {
  client_.EnsureIndex({.fields = {"due"}});
  std::vector<std::string> keys;
  for (const Key& key : std::vector<Key>{Uuid{{1}}, ObjectId{{2}}, Uuid{{3}}, ObjectId{{4}}}) {
    client_.Insert(key, R"({"due":7})");
    keys.push_back(key.ToString());
  }
  EXPECT_EQ(Keys({}), keys);
  EXPECT_EQ(Keys(Filter().OrderBy("due")), keys);
  client_.Insert("text", R"({"due":7})");
  client_.Insert(5, R"({"due":7})");
  keys.insert(keys.begin(), {"5", "text"});
  EXPECT_EQ(Keys({}), keys);
  EXPECT_EQ(Keys(Filter().OrderBy("due")), keys);
  for (const Filter& filter : {Filter(), Filter().AtMost("due", 9).OrderBy("due")}) {
    EXPECT_EQ(PlanOf(filter).find("TEMP B-TREE"), std::string::npos) << PlanOf(filter);
  }
}

TEST_F(SqliteIndexes, FieldsThatSqlCannotNameAreFoundAllTheSame) {
  client_.Insert("1", R"({"a\"b":2,"c\\d":1})");
  client_.Insert("2", R"({"a\"b":1,"c\\d":2})");
  client_.EnsureIndex({.fields = {"a\"b"}});
  EXPECT_THROW(client_.EnsureIndex({.fields = {"a\"b"}, .unique = true}), StoreException);
  EXPECT_EQ(Keys(Filter().Equal("a\"b", 2)), std::vector<std::string>{"1"});
  EXPECT_EQ(Keys(Filter().OrderBy("a\"b")), (std::vector<std::string>{"2", "1"}));
  EXPECT_EQ(Keys(Filter().OrderByDescending("c\\d")), (std::vector<std::string>{"2", "1"}));
}

TEST_F(SqliteIndexes, ABrokenBodyDoesNotAffectOthers) {
  client_.Insert("1", R"({"a":1})");
  client_.Insert("2", R"({"a":2})");
  RawDatabase(file_).Run("UPDATE doclock_c_things SET body='{broken' WHERE key='1'");
  client_.EnsureIndex({.fields = {"a"}});
  EXPECT_EQ(Keys(Filter().Equal("a", 2)), std::vector<std::string>{"2"});
  EXPECT_EQ(Keys(Filter().OrderBy("a")), (std::vector<std::string>{"1", "2"}));
}

TEST_F(SqliteIndexes, OverDocumentsThatRepeatAValueAreNamed) {
  client_.Insert("6", R"({"other":1})");
  client_.Insert("7", R"({"other":1})");
  try {
    client_.EnsureIndex({.fields = {"other"}, .unique = true});
    FAIL();
  } catch (const ConflictException& error) {
    EXPECT_EQ(error.index(), "other");
  }
}

TEST_F(SqliteIndexes, ASearchShowsEachDocumentOnceHoweverManyAreLocked) {
  const std::vector<std::string> values = {"null", "false", "true",  "0",  "1",         "1.0",
                                           "-7",   R"("")", "\"0\"", "[]", R"({"a":1})"};
  constexpr int kLocked = 100;
  for (int i = 0; i < kLocked; ++i) {
    client_.Create(i, R"({"due":)" + values[static_cast<std::size_t>(i) % values.size()] + "}");
  }
  client_.Insert("free", "{}");
  for (const bool indexed : {false, true}) {
    if (indexed) client_.EnsureIndex({.fields = {"due"}});
    for (const Filter& filter : {Filter().OrderBy("due"), Filter().OrderByDescending("due")}) {
      const auto visits = Visits(filter);
      EXPECT_EQ(visits.size(), static_cast<std::size_t>(kLocked + 1));
      for (const auto& [key, times] : visits) EXPECT_EQ(times, 1) << key;
    }
  }
  EXPECT_EQ(client_.AcquireNext(Filter().OrderBy("due")).key, Key("free"));
}

/// SQLite takes an expression that is 1000 deep.
TEST_F(SqliteIndexes, AFilterMayHaveManyConditions) {
  client_.Insert("1", R"({"n":1})");
  client_.Insert("5", R"({"n":5})");
  Filter filter;
  for (int i = 0; i < 2000; ++i) filter.AtMost("n", 2001 - i);
  EXPECT_EQ(Keys(filter), (std::vector<std::string>{"1"}));
}

TEST_F(SqliteIndexes, TellTextsApartBehindNul) {
  const auto body = [](const std::string& text) {
    return nlohmann::json{{"v", text}, {"n", 1}}.dump();
  };
  using namespace std::string_literals;
  const std::vector<std::string> in_order = {
      "a"s,     "a\0"s,   "a\0\0"s, "a\0\1"s, "a\0\"x"s,   "a\0b"s,     "a\1"s,
      "a\1\1"s, "a\1\2"s, "a\2"s,   "a\\u0"s, "a\\u0000"s, "a\\u0001"s, "aa"s};
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    keys.push_back(std::string(1, static_cast<char>('a' + i)));
  }
  for (std::size_t i = in_order.size(); i-- > 0;) client_.Insert(keys[i], body(in_order[i]));
  std::vector<std::string> backwards(keys.rbegin(), keys.rend());
  for (const bool unique : {false, true}) {
    EXPECT_EQ(Keys(Filter().OrderBy("v")), keys);
    EXPECT_EQ(Keys(Filter().OrderByDescending("v")), backwards);
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      EXPECT_EQ(Keys(Filter().Equal("v", in_order[i])), std::vector<std::string>{keys[i]}) << i;
      EXPECT_EQ(Keys(Filter().AtLeast("v", in_order[i]).OrderBy("v")),
                std::vector<std::string>(keys.begin() + static_cast<std::ptrdiff_t>(i), keys.end()))
          << i;
    }
    EXPECT_EQ(Keys(Filter().Equal("n", 1)).size(), keys.size());
    client_.EnsureIndex({.fields = {"v"}, .unique = unique});
  }
  EXPECT_EQ(client_.Insert("z", body("a\0b"s)).status, OpStatus::kConflict);
  EXPECT_EQ(client_.Insert("z", body("a\0c"s)).status, OpStatus::kDone);
}

TEST_F(SqliteIndexes, ARepeatedValueNamesFieldsWithQuotes) {
  client_.EnsureIndex({.fields = {"k'q", "''"}, .unique = true});
  const std::string body = R"({"k'q":1,"''":1})";
  EXPECT_EQ(client_.Insert("1", body).status, OpStatus::kDone);
  const SaveOp again = client_.Insert("2", body);
  ASSERT_EQ(again.status, OpStatus::kConflict) << Why(again);
  EXPECT_EQ(again.detail->index, "k'q,''");
}

/// A program may do so for all its connections.
TEST_F(SqliteIndexes, ServeConnectionsThatDoNotTrustTheSchemaByDefault) {
  const auto distrust = [](sqlite3* database, char**, const sqlite3_api_routines*) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  };
  int (*const extension)(sqlite3*, char**, const sqlite3_api_routines*) = distrust;
  const auto entry = reinterpret_cast<void (*)()>(extension);
  ASSERT_EQ(sqlite3_auto_extension(entry), SQLITE_OK);
  {
    Client client(folder_ / "other.db");
    client.EnsureIndex({.fields = {"a"}});
    EXPECT_EQ(client.Insert("1", R"({"a":1})").status, OpStatus::kDone);
  }
  sqlite3_cancel_auto_extension(entry);
}

}  // namespace
}  // namespace doclock::sqlite_test
