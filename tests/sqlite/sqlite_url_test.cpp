#include "sqlite/sqlite_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "doclock/errors.h"
#include "doclock/open_store.h"

namespace doclock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The error of OpenStore for a bad URL.
std::string ComplaintOf(const std::string& url) {
  try {
    OpenStore(url);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(no complaint)";
}

TEST(SqliteUrl, IsNotForDatabasesThatAreNoFile) {
  EXPECT_THAT(ComplaintOf("sqlite::memory:"), HasSubstr("by its URL memory:"));
  EXPECT_THAT(ComplaintOf("sqlite:%3Amemory:"), HasSubstr("by its URL memory:"));
  EXPECT_THAT(ComplaintOf("sqlite:file:a.db"), HasSubstr("not a URI"));
  EXPECT_FALSE(std::filesystem::exists(":memory:"));
}

TEST(SqliteUrl, MakesNoFileWhereOnlyWhatExistsIsWanted) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / "doclock-none.db";
  std::filesystem::remove(file);
  for (const std::string options : {"", "?create=true", "?sync=off"}) {
    EXPECT_THROW(OpenStore("sqlite:" + file.string() + options, OpenMode::kExisting),
                 StoreException);
    EXPECT_FALSE(std::filesystem::exists(file));
  }
}

TEST(SqliteUrl, ReadsThePath) {
  struct Case {
    const char* rest;
    const char* path;
  };
  for (const Case& c : std::vector<Case>{
           {"orders.db", "orders.db"},
           {"/var/lib/orders.db", "/var/lib/orders.db"},
           {"///var/lib/orders.db", "///var/lib/orders.db"},
           {"../with space & more=1.db", "../with space & more=1.db"},
           {"a%3Fb%25c%23d.db", "a?b%c#d.db"},
           {"%c3%A9t\xC3\xA9.db", "\xC3\xA9t\xC3\xA9.db"},
           {"a%253F.db", "a%3F.db"},
           {"a+b.db", "a+b.db"},
           {"user:pw@host", "user:pw@host"},
       }) {
    EXPECT_EQ(ParseSqliteUrl(c.rest).file, std::filesystem::path(c.path)) << c.rest;
  }
}

TEST(SqliteUrl, WithoutOptionsHasTheDefaults) {
  const SqliteStoreOptions options = ParseSqliteUrl("a.db").options;
  const SqliteStoreOptions defaults;
  EXPECT_EQ(options.sync, defaults.sync);
  EXPECT_EQ(options.create, defaults.create);
  EXPECT_EQ(options.local_only, defaults.local_only);
  EXPECT_EQ(options.busy_timeout, defaults.busy_timeout);
  EXPECT_EQ(options.max_pages, defaults.max_pages);
}

TEST(SqliteUrl, ReadsOptions) {
  const SqliteUrl url = ParseSqliteUrl(
      "a.db?sync=normal&create=false&local_only=false&busy_timeout_ms=60000&max_pages=4294967294");
  EXPECT_EQ(url.file, std::filesystem::path("a.db"));
  EXPECT_EQ(url.options.sync, SqliteSync::kNormal);
  EXPECT_FALSE(url.options.create);
  EXPECT_FALSE(url.options.local_only);
  EXPECT_EQ(url.options.busy_timeout, Duration(std::chrono::minutes(1)));
  EXPECT_EQ(url.options.max_pages, 4294967294);

  EXPECT_EQ(ParseSqliteUrl("a.db?sync=full").options.sync, SqliteSync::kFull);
  EXPECT_EQ(ParseSqliteUrl("a.db?sync=off").options.sync, SqliteSync::kOff);
  EXPECT_TRUE(ParseSqliteUrl("a.db?create=true&local_only=true").options.create);
}

TEST(SqliteUrl, RefusesWhatItDoesNotUnderstandAndSaysWhy) {
  struct Case {
    const char* url;
    std::vector<const char*> says;
  };
  for (const Case& c : std::vector<Case>{
           {"sqlite:", {"path is missing"}},
           {"sqlite:?sync=full", {"path is missing"}},
           {"sqlite://hunter2.db", {"\"//\"", "sqlite:/absolute"}},
           {"sqlite:hunter2#1.db", {"%23"}},
           {"sqlite:hunter2%", {"%25"}},
           {"sqlite:hunter2%4", {"%25"}},
           {"sqlite:hunter2%4g.db", {"%25"}},
           {"sqlite:hunter2%-1.db", {"%25"}},
           {"sqlite:hunter2%00.db", {"zero byte"}},
           {"sqlite:hunter2?", {"option \"\"", "sync, create"}},
           {"sqlite:hunter2?mode=ro", {"\"mode\"", "sync, create, local_only, busy_timeout_ms"}},
           {"sqlite:hunter2?password=hunter2", {"\"password\""}},
           {"sqlite:hunter2?Sync=full", {"\"Sync\""}},
           {"sqlite:hunter2?sync=full&", {"option \"\""}},
           {"sqlite:hunter2?&sync=full", {"option \"\""}},
           {"sqlite:hunter2?a\nb=1", {"a\\x0ab"}},
           {"sqlite:hunter2?sync", {"sync must be full or normal or off"}},
           {"sqlite:hunter2?sync=full&sync=full", {"\"sync\" is given twice"}},
           {"sqlite:hunter2?sync=", {"sync must be full or normal or off", "\"\""}},
           {"sqlite:hunter2?sync=FULL", {"sync must be full or normal or off", "\"FULL\""}},
           {"sqlite:hunter2?sync=full?", {"sync must be full or normal or off", "\"full?\""}},
           {"sqlite:hunter2?create=1", {"create must be true or false", "\"1\""}},
           {"sqlite:hunter2?local_only=no", {"local_only must be true or false", "\"no\""}},
           {"sqlite:hunter2?busy_timeout_ms=0", {"busy_timeout must be 1 ms to one minute"}},
           {"sqlite:hunter2?busy_timeout_ms=60001", {"busy_timeout must be"}},
           {"sqlite:hunter2?busy_timeout_ms=-5", {"busy_timeout must be"}},
           {"sqlite:hunter2?busy_timeout_ms=5s", {"busy_timeout_ms", "\"5s\""}},
           {"sqlite:hunter2?busy_timeout_ms=+5", {"busy_timeout_ms", "\"+5\""}},
           {"sqlite:hunter2?busy_timeout_ms=", {"busy_timeout_ms", "\"\""}},
           {"sqlite:hunter2?max_pages=-1", {"max_pages must be 0 to"}},
           {"sqlite:hunter2?max_pages=9223372036854775808", {"max_pages", "9223372036854775808"}},
       }) {
    const std::string complaint = ComplaintOf(c.url);
    for (const char* part : c.says) EXPECT_THAT(complaint, HasSubstr(part)) << c.url;
    EXPECT_THAT(complaint, Not(HasSubstr("hunter2"))) << c.url;
  }
}

TEST(SqliteUrl, OpensTheFileItNames) {
  const auto dir = std::filesystem::path(::testing::TempDir()) /
                   ("open_store_" + std::to_string(std::hash<std::string>{}(__FILE__ __TIME__)));
  std::filesystem::remove_all(dir);
  std::filesystem::create_directory(dir);
  const std::string url = "sqlite:" + dir.string() + "/or%23ders.db";
  EXPECT_THROW(OpenStore(url + "?create=false"), StoreException);
  EXPECT_NE(OpenStore(url + "?sync=off"), nullptr);
  EXPECT_TRUE(std::filesystem::exists(dir / "or#ders.db"));
  EXPECT_NE(OpenStore(url + "?create=false"), nullptr);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace doclock
