// What a program sets for its whole process changes nothing of what its stores do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "process/child.h"
#include "process/temp_folder.h"

#ifdef DOCLOCK_WITH_MONGODB
#include "mongodb/support/raw_server.h"
#endif
#ifdef DOCLOCK_WITH_POSTGRESQL
#include "postgresql/support/raw_server.h"
#endif

namespace doclock::host_test {
namespace {

using ::testing::ElementsAreArray;

using Lines = std::vector<std::string>;

/// The guest, in this folder, with the locales of the tests.
Lines Guest(const std::filesystem::path& folder, const Lines& arguments,
            const Lines& variables = {}) {
  Lines prefix{"env", "-C", folder.string(), "LOCPATH=" DOCLOCK_TEST_LOCALES};
  prefix.insert(prefix.end(), variables.begin(), variables.end());
  test::Child guest(arguments, prefix);
  return guest.Rest();
}

struct Case {
  /// The URL of memory: or a SQLite file; a server is "Set", "Standalone" or "Postgresql".
  std::string store;
  std::string setting;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.store << ", " << one.setting; }

/// Runs sessions over one store, one after the other.
class Host : public ::testing::TestWithParam<Case> {
 protected:
  Host() : url_(GetParam().store) {
#ifdef DOCLOCK_WITH_MONGODB
    if (url_ == "Set") database_.emplace(mongo_test::SetUri());
    if (url_ == "Standalone") database_.emplace(mongo_test::StandaloneUri());
    if (database_) url_ = database_->uri();
#endif
#ifdef DOCLOCK_WITH_POSTGRESQL
    if (url_ == "Postgresql") url_ = schema_.emplace().url();
#endif
  }
  Lines Session(const std::string& setting, const std::string& when) {
    return Guest(folder_.path(), {"session", setting, when, url_});
  }
  /// Two sessions, of which the second is after main. What is freed does not look as before.
  Lines SessionsOfGlobal(const std::string& more) {
    return Guest(folder_.path(), {"globals"},
                 {"DOCLOCK_TEST_GLOBAL=" + url_, "MALLOC_PERTURB_=165",
                  "GLIBC_TUNABLES=glibc.malloc.tcache_count=0", more});
  }

 private:
  test::TempFolder folder_;
  std::string url_;
#ifdef DOCLOCK_WITH_MONGODB
  std::optional<mongo_test::Database> database_;
#endif
#ifdef DOCLOCK_WITH_POSTGRESQL
  std::optional<postgresql_test::Schema> schema_;
#endif
};

TEST_P(Host, ChangesNothing) {
  const Lines expected = Session("nothing", "before");
  ASSERT_GT(expected.size(), 30U) << ::testing::PrintToString(expected);
  EXPECT_THAT(Session(GetParam().setting, "before"), ElementsAreArray(expected));
  EXPECT_THAT(Session(GetParam().setting, "after"), ElementsAreArray(expected));
}

using HostOfGlobals = Host;

/// What the first session makes is destroyed before the global if it is in main, and never used
/// before it is made if it is not.
TEST_P(HostOfGlobals, UsesItsStoresBeforeMainAndAfterIt) {
  Lines expected = Session("nothing", "before");
  expected.reserve(2 * expected.size());
  expected.insert(expected.end(), expected.begin(), expected.end());
  EXPECT_THAT(SessionsOfGlobal("DOCLOCK_TEST_EARLY=1"), ElementsAreArray(expected));
  EXPECT_THAT(SessionsOfGlobal("DOCLOCK_TEST_LATE=1"), ElementsAreArray(expected));
}

#ifdef DOCLOCK_WITH_SQLITE
TEST(HostOfSqlite, MayNotUseItForOneThreadOnly) {
  const test::TempFolder folder;
  const Lines lines = Guest(folder.path(), {"one-thread"});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines.front().find("SQLITE_CONFIG_SINGLETHREAD"), std::string::npos) << lines.front();
  EXPECT_FALSE(std::filesystem::exists(folder / "goods.db"));
}

TEST(HostOfSqlite, OfAnotherLocaleThatWritesByItselfKeepsTheIndexesRight) {
  const test::TempFolder folder;
  EXPECT_EQ(Guest(folder.path(), {"foreign"}), Lines{"b"});
}
#endif

std::vector<Case> Cases(const Lines& stores) {
  std::vector<Case> cases;
  for (const std::string& line : Guest(std::filesystem::temp_directory_path(), {"settings"})) {
    const std::string setting = line.substr(0, line.find('\t'));
    const bool of_sqlite = setting != line;
    for (const std::string& store : stores) {
      if (!of_sqlite || store.starts_with("sqlite:")) cases.push_back({store, setting});
    }
  }
  return cases;
}

std::vector<Case> Globals(const Lines& stores) {
  std::vector<Case> cases;
  for (const std::string& store : stores) cases.push_back({store, "a global"});
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.store.substr(0, info.param.store.find(':')) + "_";
  for (const char c : info.param.setting) {
    if (c != '\'') name += c == ' ' ? '_' : c;
  }
  return name;
}

#ifdef DOCLOCK_WITH_SQLITE
const Lines kLocal = {"memory:", "sqlite:goods.db"};
#else
const Lines kLocal = {"memory:"};
#endif
INSTANTIATE_TEST_SUITE_P(Local, Host, ::testing::ValuesIn(Cases(kLocal)), &NameOf);
INSTANTIATE_TEST_SUITE_P(Local, HostOfGlobals, ::testing::ValuesIn(Globals(kLocal)), &NameOf);
#ifdef DOCLOCK_WITH_MONGODB
INSTANTIATE_TEST_SUITE_P(Mongodb, Host, ::testing::ValuesIn(Cases({"Set", "Standalone"})), &NameOf);
#endif
#ifdef DOCLOCK_WITH_POSTGRESQL
INSTANTIATE_TEST_SUITE_P(Server, Host, ::testing::ValuesIn(Cases({"Postgresql"})), &NameOf);
INSTANTIATE_TEST_SUITE_P(Postgresql, HostOfGlobals, ::testing::ValuesIn(Globals({"Postgresql"})),
                         &NameOf);
#endif

}  // namespace
}  // namespace doclock::host_test
