#include "postgresql/tables/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string>

#include "doclock/errors.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/client/url.h"
#include "postgresql/hints/listener.h"

namespace doclock::postgresql {
namespace {

RC_GTEST_PROP(PostgresqlTexts, ComeBackAndKeepTheirOrder,
              (const std::string& a, const std::string& b)) {
  RC_ASSERT(Unescaped(Escaped(a)) == a);
  RC_ASSERT((Escaped(a) < Escaped(b)) == (a < b));
  RC_ASSERT(Escaped(a).find('\0') == std::string::npos);
}

TEST(PostgresqlTexts, OfTwoCharactersKeepTheirOrder) {
  const std::string ends[] = {{'\0'}, {'\1'}, {'\2'}, {'\1', '\0'}, {'\0', '\1'}, {'\1', '\1'}, {}};
  for (const std::string& a : ends) {
    for (const std::string& b : ends) EXPECT_EQ(Escaped(a) < Escaped(b), a < b);
  }
}

std::string RefusalOfBody(const std::string& text) {
  try {
    CheckForJsonb(Body::FromText(text));
    return {};
  } catch (const DocumentException& error) {
    return error.what();
  }
}

TEST(PostgresqlBodies, AreRefusedByTheirMembersIfTheyCannotBeStored) {
  using ::testing::HasSubstr;
  EXPECT_THAT(RefusalOfBody(R"({"a":[1,{"b":"x\u0000"}]})"), HasSubstr("\"a[1].b\" holds U+0000"));
  for (const std::string& number :
       {std::string("1e131071"), std::string(131072, '9'), std::string("1e-16384"),
        "0." + std::string(16384, '9'), std::string("1e99999999999"), std::string("0e-16384"),
        "1." + std::string(16384, '0')}) {
    EXPECT_THAT(RefusalOfBody(R"({"a":{"n":)" + number + "}}"),
                HasSubstr("\"a.n\" has more digits"));
  }
}

/// jsonb writes all digits, and what is too long then could be read by no client.
TEST(PostgresqlBodies, AreRefusedIfTheyAreTooLongWithAllDigits) {
  const auto refusal = [](std::size_t count) {
    return RefusalOfBody(
        Body::FromJson({{"n", 1}, {"v", std::vector<double>(count, 1e300)}}).text());
  };
  EXPECT_EQ(refusal(50'000), "");
  EXPECT_THAT(refusal(60'000), ::testing::HasSubstr("makes it too long"));
}

TEST(PostgresqlBodies, KeepTheKindsOfTheirNumbers) {
  const Body body = Body::FromJson(
      {{"a", {1e15, -1e15, 1e22, 1.5e15, 1e14, std::int64_t{1} << 60, 1234567890123456.25}},
       {"b", {{"c", static_cast<double>(std::int64_t{1} << 60)}, {"d", "1e+15"}}}});
  EXPECT_EQ(JsonbOf(body),
            R"({"a":[1000000000000000.0,-1000000000000000.0,10000000000000000000000.0,)"
            R"(1500000000000000.0,100000000000000.0,1152921504606846976,1.2345678901234562e+15],)"
            R"("b":{"c":1152921504606846976.0,"d":"1e+15"}})");
  EXPECT_EQ(JsonbOf(Body::FromText(R"({"a":1e+20, "b":[1e+3]})")),
            R"({"a":100000000000000000000.0,"b":[1e+3]})");
}

TEST(PostgresqlBodies, AreTakenIfTheyCanBeStored) {
  for (const std::string& number :
       {std::string("1e131070"), std::string(131071, '9'), std::string("1e-16383"),
        "0." + std::string(16383, '9'), "0." + std::string(20000, '0') + "1e20000",
        std::string("-1.50"), std::string("0e999999"), std::string("18446744073709551615")}) {
    EXPECT_EQ(RefusalOfBody(R"({"a":)" + number + R"(,"b":"\\u0000\u0001"})"), "");
  }
}

TEST(PostgresqlHint, ComesBack) {
  const auto hint = Hint::FromText(Hint{UINT64_MAX, INT64_MAX}.ToText());
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->hash, UINT64_MAX);
  EXPECT_EQ(hint->instance, INT64_MAX);
  for (const char* const text : {"", "1", "1 ", " 1", "a 1", "1 a", "1 1 ", "-1 1"}) {
    EXPECT_FALSE(Hint::FromText(text)) << text;
  }
}

TEST(PostgresqlUrl, VerifiesOtherMachines) {
  EXPECT_FALSE(ParseUrl("postgresql:///orders").verifies);
  EXPECT_FALSE(ParseUrl("postgres://127.0.0.1:5433,localhost/orders").verifies);
  EXPECT_TRUE(ParseUrl("postgresql://localhost,db.example/orders").verifies);
  EXPECT_TRUE(ParseUrl("postgresql://localhost/orders?hostaddr=10.0.0.1").verifies);
  EXPECT_FALSE(ParseUrl("postgresql://db.example/orders?sslmode=require").verifies);
  EXPECT_TRUE(ParseUrl("postgresql:///orders?service=shop").verifies);
}

TEST(PostgresqlUrl, NamesItsHostsOneByOne) {
  const auto hosts = [](const char* url) {
    std::string all;
    for (const Host& host : ParseUrl(url).hosts) {
      all += host.name + "/" + host.address + "/" + host.port + " ";
    }
    return all;
  };
  EXPECT_EQ(hosts("postgresql://db/orders"), "// ");
  EXPECT_EQ(hosts("postgresql://a:1,b/orders"), "a//1 b//5432 ");
  EXPECT_EQ(hosts("postgresql://a,b/orders?port=7&hostaddr=::1,::2"), "a/::1/7 b/::2/7 ");
  EXPECT_EQ(hosts("postgresql:///orders?host=a,"), "// ");  // the second one is a default
}

std::string RefusalOf(const std::string& url) {
  try {
    ParseUrl(url);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  ADD_FAILURE() << url;
  return {};
}

TEST(PostgresqlUrl, ThatIsBadIsNotRepeated) {
  for (const char* const url :
       {"postgresql://me:secret@[host/orders", "host=db password=secret",
        "postgresql://db/orders?ap=secret", "postgresql://me:p/w?secret=y@db/orders",
        "postgresql://db/orders?password=p&secret=w", "postgresql://db/orders?password =p&secret=w",
        "postgresql://db/orders?secret", "postgresql://db/orders?%73ecret=secret",
        "postgresql://db/orders?%70assword=p&secret=w"}) {
    EXPECT_EQ(RefusalOf(url).find("secret"), std::string::npos) << url;
  }
}

TEST(PostgresqlUrl, NamesTheOptionThatLibpqDoesNotKnow) {
  for (const char* const url :
       {"postgresql://db/orders?ssl_mode=require",
        "postgres://me@/?sslmode=require&ssl=true&ssl_mode=require&port=1"}) {
    EXPECT_NE(RefusalOf(url).find("\"ssl_mode\""), std::string::npos) << url;
  }
}

/// Without comments; a space for each gap.
std::string Statements(const std::string& text) {
  const std::string bare = std::regex_replace(text, std::regex("--[^\n]*"), "");
  return std::regex_replace(bare, std::regex("\\s+"), " ");
}

TEST(PostgresqlSql, OfTheTablesIsWhatThePageShows) {
  std::ifstream in(DOCLOCK_DOCS "/reference/postgresql.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(Statements(page).find("```sql " + Statements(PostgresqlTables("orders")) + "```"),
            std::string::npos);
}

}  // namespace
}  // namespace doclock::postgresql
