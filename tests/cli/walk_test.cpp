#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "sqlite/support/client.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// More documents than one page has and a pipe holds.
class WalkTest : public CliTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Doclock({"put", "sagas", "0"}, "{}").code, 0);
    sqlite_test::RawDatabase(folder / "locks.db")
        .Run(
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<3000) INSERT "
            "INTO "
            "doclock_c_sagas(key,body) SELECT printf('k%04d',i), "
            "json_object('n',i,'pad',printf('%300d',i)) FROM c");
  }
  /// Starts a command, the reader of whose output stops after the first bytes until the file `go`
  /// is there. Its exit code is in the file `code`.
  std::vector<std::string> Stalled(const std::string& arguments) {
    const std::string in = "cd '" + (folder / ".") + "'; ";
    return {
        "sh", "-c",
        in + "{ '" DOCLOCK_CLI "' " + arguments +
            "; echo $? >code; } | { head -c 100 >first; while ! [ -e go ]; do sleep 0.01; done; "
            "cat >rest; }"};
  }
  [[nodiscard]] bool IsStalled() {
    return Eventually([&] { return TextOf(folder / "first").size() == 100; });
  }
  void GoOn() { std::ofstream(folder / "go") << "go"; }
};

TEST_F(WalkTest, AStalledReaderDoesNotKeepTheLogFromBeingReused) {
  Program list(Stalled("list --json sagas"), {store, temporary});
  ASSERT_TRUE(IsStalled());
  sqlite_test::Client client(folder / "locks.db", {.sync = SqliteSync::kNormal});
  const std::string body = R"({"pad":")" + std::string(400'000, 'x') + "\"}";
  for (int i = 0; i < 150; ++i) {
    ASSERT_EQ(client.Insert(i, body).status, OpStatus::kDone);
  }
  EXPECT_LT(std::filesystem::file_size(folder / "locks.db-wal"), 40'000'000U) << "of 60 MB";
  GoOn();
  EXPECT_EQ(list.Wait().code, 0);
  EXPECT_EQ(TextOf(folder / "code"), "0\n");
  EXPECT_EQ(Lines(TextOf(folder / "first") + TextOf(folder / "rest")).size(), 3001U);
}

TEST_F(WalkTest, AnOutputThatIsNotCompleteTellsHowToGoOn) {
  Program exported(Stalled("export sagas"), {store, temporary});
  ASSERT_TRUE(IsStalled());
  std::filesystem::rename(folder / "locks.db", folder / "away.db");
  GoOn();
  const Ended ended = exported.Wait();
  EXPECT_EQ(TextOf(folder / "code"), "79\n") << ended.err;
  const std::vector<std::string> lines = Lines(TextOf(folder / "first") + TextOf(folder / "rest"));
  ASSERT_FALSE(lines.empty());
  const auto last = nlohmann::json::parse(lines.back()).at("key").get<std::string>();
  EXPECT_THAT(ended.err,
              HasSubstr("the output is not complete: go on with --after '" + last + "'"));
  std::filesystem::rename(folder / "away.db", folder / "locks.db");
  const Ended others = Doclock({"list", "--keys", "--after", last, "sagas"});
  EXPECT_EQ(lines.size() + Lines(others.out).size(), 3001U) << others.err;
}

class KeysTest : public CliTest {
 protected:
  std::vector<std::string> Keys(std::vector<std::string> options) {
    options.insert(options.begin(), {"list", "--keys"});
    options.push_back("sagas");
    const Ended ended = Doclock(options);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return Lines(ended.out);
  }
};

TEST_F(KeysTest, AreSearchedAndOrdered) {
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_EQ(Doclock({"put", "sagas", key}, R"({"n":1})").code, 0);
  }
  EXPECT_THAT(Keys({"--where", "_id=b"}), ElementsAre("b"));
  EXPECT_THAT(Keys({"--where", "_id>a", "--where", "n=1"}), ElementsAre("b", "c"));
  EXPECT_THAT(Keys({"--order-by", "_id", "--descending"}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Keys({"--order-by", "_id", "--descending", "--after", "b"}), ElementsAre("a"));
  EXPECT_THAT(Keys({"--after", "a"}), ElementsAre("b", "c"));
  const Ended refused = Doclock({"list", "--after", "a", "--order-by", "n", "sagas"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_THAT(refused.err, HasSubstr("--after needs the order of keys"));
}

TEST_F(KeysTest, AreFoundOnceTheirDocumentsAreDue) {
  const auto at = [](const char* ms) {
    return R"({"at":{"$date":{"$numberLong":")" + std::string(ms) + R"("}}})";
  };
  ASSERT_EQ(Doclock({"put", "sagas", "past"}, at("1")).code, 0);
  ASSERT_EQ(Doclock({"put", "sagas", "ahead"}, at("4102444800000")).code, 0);
  ASSERT_EQ(Doclock({"put", "sagas", "text"}, R"-({"at":"now()"})-").code, 0);
  EXPECT_THAT(Keys({"--where", "at<=now()"}), ElementsAre("past"));
  EXPECT_THAT(Keys({"--where", R"-(at<="now()")-"}), ElementsAre("text"));
}

TEST_F(KeysTest, HaveTypes) {
  for (const char* type : {"string", "int"}) {
    ASSERT_EQ(Doclock({"put", "--key-type", type, "sagas", "5"}, "{}").code, 0);
  }
  const std::string uuid = "6f1c36ce-06a8-4f3d-8b57-0b38dfc7a6ac";
  ASSERT_EQ(Doclock({"put", "--key-type", "uuid", "sagas", uuid}, "{}").code, 0);
  EXPECT_THAT(Keys({"--json", "--where", "_id=5"}), ElementsAre(R"({"key":"5","keyType":"int"})"));
  EXPECT_THAT(Keys({"--json", "--key-type", "string", "--where", "_id=5"}),
              ElementsAre(R"({"key":"5","keyType":"string"})"));
  EXPECT_THAT(Keys({"--key-type", "uuid", "--where", "_id=" + uuid}), ElementsAre(uuid));
  EXPECT_THAT(Keys({"--key-type", "uuid", "--after", uuid}), IsEmpty());
  EXPECT_EQ(Doclock({"list", "--key-type", "uuid", "--after", "x", "sagas"}).code, 64);
}

TEST_F(KeysTest, AreNotTheMemberIdOfABody) {
  ASSERT_EQ(Doclock({"put", "sagas", "a"}, R"({"id":"z"})").code, 0);
  ASSERT_EQ(Doclock({"put", "sagas", "b"}, "{}").code, 0);
  EXPECT_THAT(Keys({"--where", "id=z"}), ElementsAre("a"));
  EXPECT_THAT(Keys({"--where", "id=b"}), IsEmpty());
  EXPECT_THAT(Keys({"--where", "_id=b"}), ElementsAre("b"));
}

}  // namespace
}  // namespace doclock::cli_test
