#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The commands that find documents, and those that write one of them.
class ListTest : public CliTest {
 protected:
  void Put(const std::string& key, const std::string& body) {
    ASSERT_EQ(Doclock({"put", "sagas", "--", key}, body).code, 0);
  }
  std::vector<std::string> Keys(std::vector<std::string> options) {
    options.insert(options.begin(), {"list", "--keys"});
    options.push_back("sagas");
    return Lines(Doclock(options).out);
  }
};

TEST_F(ListTest, CollectionsAreNamed) {
  Put("1", "{}");
  ASSERT_EQ(Doclock({"put", "Orders", "1"}, "{}").code, 0);
  EXPECT_EQ(Doclock({"collections"}).out, "Orders\nsagas\n");
  EXPECT_EQ(Doclock({"collections", "--json"}).out, "[\"Orders\",\"sagas\"]\n");
}

TEST_F(ListTest, DocumentsAreSelectedOrderedAndCounted) {
  Put("a", R"({"step":"new","n":3})");
  Put("b", R"({"step":"paid","n":1})");
  Put("c", R"({"step":"paid","n":2})");
  EXPECT_THAT(Keys({"--where", "step=paid", "--order-by", "n"}), ElementsAre("b", "c"));
  EXPECT_THAT(Keys({"--where", "n>=2", "--order-by", "n", "--descending"}), ElementsAre("a", "c"));
  EXPECT_THAT(Keys({"--where", "n>1", "--where", "step!=new"}), ElementsAre("c"));
  EXPECT_THAT(Keys({"--order-by", "n", "--limit", "1"}), ElementsAre("b"));
  EXPECT_THAT(Keys({"--where", "n=\"3\""}), ElementsAre()) << "a text, not a number";
  EXPECT_THAT(Keys({"--locked"}), ElementsAre());
  EXPECT_EQ(Keys({"--free"}).size(), 3U);
  const Ended table = Doclock({"list", "sagas"});
  EXPECT_THAT(table.out, HasSubstr("KEY"));
  EXPECT_THAT(table.out, HasSubstr(R"({"n":3,"step":"new"})"));
}

TEST_F(ListTest, ABodyThatCannotBeReadIsNamed) {
  Put("1", "{}");
  sqlite_test::RawDatabase(folder / "locks.db").Run("UPDATE doclock_c_sagas SET body='{'");
  for (const char* command : {"list", "export"}) {
    const Ended ended = Doclock({command, "sagas"});
    EXPECT_EQ(ended.code, 65);
    EXPECT_THAT(ended.err, HasSubstr("document '1' of 'sagas' cannot be read: "));
  }
}

TEST_F(ListTest, GoesOnAfterABodyThatCannotBeRead) {
  for (const char* key : {"1", "2", "3"}) Put(key, R"({"n":1})");
  sqlite_test::RawDatabase(folder / "locks.db")
      .Run("UPDATE doclock_c_sagas SET body='{oops' WHERE id=2");
  const Ended keys = Doclock({"list", "--keys", "sagas"});
  EXPECT_EQ(keys.code, 65);
  EXPECT_THAT(Lines(keys.out), ElementsAre("1", "2", "3")) << "the key can be read";
  EXPECT_THAT(keys.err, HasSubstr("document '2' of 'sagas' cannot be read: "));
  const Ended lines = Doclock({"list", "--json", "sagas"});
  EXPECT_EQ(lines.code, 65);
  EXPECT_THAT(lines.out, AllOf(HasSubstr(R"("key":"1")"), Not(HasSubstr(R"("key":"2")")),
                               HasSubstr(R"("key":"3")")));
  EXPECT_THAT(Keys({"--where", "n=1"}), ElementsAre("1", "3"));
  const Ended exported = Doclock({"export", "sagas"});
  EXPECT_EQ(exported.code, 65);
  EXPECT_THAT(exported.out, Not(HasSubstr(R"("key":"3")"))) << "a copy with a gap";
}

TEST_F(ListTest, LinesOfJsonTellAll) {
  ASSERT_EQ(Doclock({"put", "--key-type", "int", "sagas", "--", "-7"}, R"({"n":1})").code, 0);
  const Ended lines = Doclock({"list", "--json", "sagas"});
  ASSERT_EQ(Lines(lines.out).size(), 1U) << lines.err;
  const json line = json::parse(lines.out);
  EXPECT_EQ(line.at("key"), "-7");
  EXPECT_EQ(line.at("keyType"), "int");
  EXPECT_EQ(line.at("locked"), false);
  EXPECT_EQ(line.at("body"), (json{{"n", 1}}));
  const Ended full = Doclock({"get", "--full", "--json", "--key-type", "int", "sagas", "--", "-7"});
  EXPECT_EQ(json::parse(full.out), line) << full.err;
}

TEST_F(ListTest, CreateOnlyRefusesADocumentThatExists) {
  EXPECT_EQ(Doclock({"put", "--create", "sagas", "1"}, R"({"n":1})").code, 0);
  const Ended again = Doclock({"put", "--create", "sagas", "1"}, R"({"n":2})");
  EXPECT_EQ(again.code, 73);
  EXPECT_THAT(again.err, HasSubstr("'1' in the collection 'sagas' exists already"));
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "1"}).out, "{\"n\":1}\n");
}

TEST_F(ListTest, IfVersionRefusesAnotherVersion) {
  Put("1", R"({"n":1})");
  const auto version = [&] {
    return json::parse(Doclock({"get", "--full", "sagas", "1"}).out).at("version").dump();
  };
  const std::string seen = version();
  EXPECT_EQ(Doclock({"put", "--if-version", seen, "sagas", "1"}, R"({"n":2})").code, 0);
  const Ended late = Doclock({"put", "--if-version", seen, "sagas", "1"}, R"({"n":3})");
  EXPECT_EQ(late.code, 73);
  EXPECT_THAT(late.err, HasSubstr("is at version " + version() + ", not " + seen));
  EXPECT_EQ(Doclock({"delete", "--if-version", seen, "sagas", "1"}).code, 73);
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "1"}).out, "{\"n\":2}\n");
  EXPECT_EQ(Doclock({"delete", "--if-version", version(), "sagas", "1"}).code, 0);
  EXPECT_EQ(Doclock({"put", "--if-version", "1", "sagas", "1"}, "{}").code, 66);
  EXPECT_EQ(Doclock({"put", "--if-version", "1", "--create", "sagas", "1"}, "{}").code, 64);
}

TEST_F(ListTest, DeleteTakesTheLock) {
  Put("1", "{}");
  Holding holder(*this, {"-c", "sagas", "1"});
  EXPECT_EQ(Doclock({"delete", "sagas", "1"}).code, 75);
  EXPECT_THAT(Keys({"--locked"}), ElementsAre("1"));
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(Doclock({"delete", "--wait", "20s", "sagas", "1"}).code, 0);
  EXPECT_EQ(Doclock({"get", "sagas", "1"}).code, 66);
  EXPECT_EQ(Doclock({"delete", "sagas", "1"}).code, 66);
}

TEST_F(ListTest, NamesAndKeysMayBeginWithAHyphen) {
  Put("-x", R"({"n":1})");
  Put("--", R"({"n":2})");
  EXPECT_EQ(Doclock({"get", "--json", "--", "sagas", "-x"}).out, "{\"n\":1}\n");
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "--", "--"}).out, "{\"n\":2}\n");
  EXPECT_EQ(Doclock({"run", "--", "-job", "--", "echo", "--", "hi"}).out, "-- hi\n");
  EXPECT_EQ(Doclock({"status", "--", "-job"}).code, 66) << "it is not locked";
  EXPECT_EQ(Doclock({"get", "--json", "doclock_locks", "--", "-job"}).out, "{}\n");
  EXPECT_EQ(Doclock({"run", "job", "--", "echo", "--", "hi"}).out, "-- hi\n");
  const Ended advised = Doclock({"get", "sagas", "-x"});
  EXPECT_EQ(advised.code, 64);
  EXPECT_THAT(advised.err, HasSubstr("write -- before a name or key that begins with -"));
  EXPECT_EQ(Doclock({"run", "--", "-job"}).code, 64);
}

TEST_F(ListTest, StatusShowsWhatMinHoldKeepsClosed) {
  ASSERT_EQ(Doclock({"run", "--min-hold", "1h", "cron", "--", "true"}).code, 0);
  const Ended one = Doclock({"status", "cron"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("closed"));
  const json shown = json::parse(Doclock({"status", "--json", "cron"}).out);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].at("held"), false);
  EXPECT_EQ(shown[0].at("closed"), true);
  EXPECT_EQ(Doclock({"status", "--json"}).out, "[]\n");
  EXPECT_THAT(Doclock({"status", "--closed"}).out, HasSubstr("cron"));
  Holding holder(*this, {"--min-hold", "1h", "job"});
  const json held = json::parse(Doclock({"status", "--json"}).out);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].at("held"), true);
  EXPECT_EQ(held[0].at("closed"), true);
}

TEST_F(ListTest, TheVersionAsJsonNamesTheStores) {
  const json version = json::parse(Doclock({"--version", "--json"}).out);
  EXPECT_EQ(version.at("version").get<std::string>() + "\n", Doclock({"--version"}).out);
  EXPECT_THAT(version.at("stores").dump(), HasSubstr("sqlite"));
}

}  // namespace
}  // namespace doclock::cli_test
