#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "doclock/doclock.h"
#include "sqlite/support/load.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ImportTest : public CliTest {
 protected:
  std::string File(const std::string& text) {
    std::ofstream(folder / "lines") << text;
    return folder / "lines";
  }
  static std::string Line(const std::string& key, const std::string& body) {
    return R"({"key":")" + key + R"(","body":)" + body + "}\n";
  }
};

TEST_F(ImportTest, NamesTheLineThatCannotBeStored) {
  const std::string deep = R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}";
  const std::string deeper = R"({"a":)" + std::string(99'999, '[') + std::string(99'999, ']') + "}";
  for (const std::string& bad :
       {std::string(R"({"a.b":1})"), std::string(R"({"lockId":1})"), std::string(R"({"":1})"),
        std::string(R"({"$x":1})"), std::string(R"({"_id":1})"), std::string(R"({"a\u0000b":1})"),
        std::string(R"({"n":{"a\u0000b":1}})"), deep, deeper}) {
    const std::string what = bad.substr(0, 40);
    const Ended import = Doclock({"import", "sagas", File(Line("1", "{}") + Line("2", bad))});
    EXPECT_EQ(import.code, 65) << what;
    EXPECT_THAT(import.err, HasSubstr("line 2: the body cannot be stored: ")) << what;
    const Ended put = Doclock({"put", "others", "1"}, bad);
    EXPECT_EQ(put.code, 65) << what;
    EXPECT_THAT(put.err, HasSubstr("the body cannot be stored: ")) << what;
  }
}

TEST_F(ImportTest, EndsAtTheFirstLineThatTheStoreRefuses) {
  ASSERT_EQ(Doclock({"put", "sagas", "0"}, R"({"n":0})").code, 0);
  LockingRepository<json>(LockManager(OpenStore("sqlite:" + (folder / "locks.db"))), "sagas")
      .EnsureIndex({"n"}, true);
  std::string lines;
  for (int i = 1; i <= 40; ++i) {
    lines += Line(std::to_string(i), R"({"n":)" + std::to_string(i < 10 ? i : 0) + "}");
  }
  for (int round = 0; round < 10; ++round) {
    const Ended ended = Doclock({"import", "sagas", File(lines)});
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.err,
                HasSubstr("the import ended at line 10; mend the cause and repeat it\n"));
    EXPECT_THAT(ended.err, HasSubstr("document '10' "));
  }
}

TEST_F(ImportTest, AFewThreadsAreEnough) {
  if (sqlite_test::kSanitized) GTEST_SKIP() << "sanitizers need more address space than that";
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += Line(std::to_string(i), "{}");
  const Ended ended =
      Program({"sh", "-c",
               "ulimit -s 1000000; ulimit -v 12000000; exec " DOCLOCK_CLI " import sagas '" +
                   File(lines) + "'"},
              {store})
          .Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "50 documents imported\n");
}

}  // namespace
}  // namespace doclock::cli_test
