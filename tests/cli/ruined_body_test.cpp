/// Documents whose body another program has ruined: put and delete need not read what they replace.

#include <fstream>

#include "cli/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;

class RuinedBodyTest : public CliTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Doclock({"put", "sagas", "42"}, R"({"n":1})").code, 0);
    Ruin("'{oops'");
  }
  void Ruin(const std::string& value) {
    sqlite_test::RawDatabase(folder / "locks.db").Run("UPDATE doclock_c_sagas SET body=" + value);
  }
  std::int64_t Version() {
    return sqlite_test::RawDatabase(folder / "locks.db")
        .Number("SELECT lock_version FROM doclock_l_sagas");
  }
};

TEST_F(RuinedBodyTest, IsReplacedByPutWhichSaysSo) {
  for (const char* ruined : {"'{oops'", "'[1]'", "x'00ff'", "7", "''"}) {
    Ruin(ruined);
    const std::int64_t before = Version();
    const Ended put = Doclock({"put", "sagas", "42"}, R"({"n":2})");
    EXPECT_EQ(put.code, 0) << ruined << put.err;
    EXPECT_THAT(put.err,
                HasSubstr("the document '42' in the collection 'sagas' was replaced; its old body "
                          "could not be read"))
        << ruined;
    EXPECT_THAT(put.err, HasSubstr("replaced")) << ruined;
    EXPECT_THAT(put.err, Not(HasSubstr("oops"))) << "a body";
    EXPECT_EQ(Doclock({"get", "--json", "sagas", "42"}).out, "{\"n\":2}\n") << ruined;
    EXPECT_GT(Version(), before);
    // The first version of this opening's era was the grant's.
    EXPECT_EQ(Version() % (std::int64_t{1} << 32), 1) << "a write, and no document made anew";
  }
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, R"({"n":3})").err, "");
}

TEST_F(RuinedBodyTest, IsDeletedByDeleteWhichSaysSo) {
  const Ended deleted = Doclock({"delete", "sagas", "42"});
  EXPECT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_THAT(deleted.err,
              HasSubstr("the document '42' in the collection 'sagas' was deleted; its old body "
                        "could not be read"));
  EXPECT_EQ(Doclock({"get", "sagas", "42"}).code, 66);
}

TEST_F(RuinedBodyTest, IsLeftAloneWhileAnotherClientHoldsItsLock) {
  Holding holder(*this, {"-c", "sagas", "42"});
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, R"({"n":2})").code, 75);
  EXPECT_EQ(Doclock({"delete", "sagas", "42"}).code, 75);
  EXPECT_EQ(Doclock({"get", "sagas", "42"}).code, 65) << "as it was";
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(Doclock({"put", "--wait", "20s", "sagas", "42"}, R"({"n":2})").code, 0);
}

TEST_F(RuinedBodyTest, IsNotReplacedAtAVersionNorByWhatCannotBeStored) {
  const std::int64_t before = Version();
  EXPECT_EQ(Doclock({"put", "--if-version", std::to_string(before), "sagas", "42"}, "{}").code, 65);
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, R"({"lockId":1})").code, 65);
  EXPECT_EQ(Doclock({"get", "sagas", "42"}).code, 65);
  EXPECT_EQ(Version(), before);
}

}  // namespace
}  // namespace doclock::cli_test
