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

TEST_F(ImportTest, PlainDocumentsNameTheirKey) {
  const std::string lines =
      "{\"id\":\"a\",\"n\":1}\n{\"id\":7,\"n\":2}\n"
      "{\"id\":{\"$oid\":\"0123456789abcdef01234567\"},\"key\":\"mine\"}\n";
  const Ended without = Doclock({"import", "sagas", File(lines)});
  EXPECT_EQ(without.code, 65);
  EXPECT_THAT(without.err, HasSubstr("line 1: there is no member \"key\"; for plain documents "
                                     "name their key with --key"));
  EXPECT_EQ(Doclock({"import", "--key", "id", "sagas", folder / "lines"}).code, 0);
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "a"}).out, "{\"n\":1}\n");
  EXPECT_EQ(Doclock({"get", "--json", "--key-type", "int", "sagas", "7"}).out, "{\"n\":2}\n");
  EXPECT_EQ(
      Doclock({"get", "--json", "--key-type", "oid", "sagas", "0123456789abcdef01234567"}).out,
      "{\"key\":\"mine\"}\n");
  const std::string id = "6f1c36ce-06a8-4f3d-8b57-0b38dfc7a6ac";
  ASSERT_EQ(
      Doclock({"import", "--key", "id", "--key-type", "uuid", "sagas"}, R"({"id":")" + id + "\"}")
          .code,
      0);
  EXPECT_EQ(Doclock({"get", "--json", "--key-type", "uuid", "sagas", id}).out, "{}\n");
}

TEST_F(ImportTest, APlainDocumentWithoutAKeyIsRefused) {
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"n":1})", "there is no member \"id\", which --key names (a name at the top"},
           {R"({"id":1.5})", "the member \"id\" is no key"},
           {R"({"id":null})", "the member \"id\" is no key"},
           {R"({"id":{"$binary":"x"}})", "the member \"id\" is no key"},
           {R"({"id":18446744073709551615})", "the member \"id\" is no key"},
           {R"({"id":"1","lockId":1})", "the body cannot be stored"},
           {R"([])", "the line is not a JSON object"}}) {
    const Ended ended = Doclock({"import", "--key", "id", "sagas", File(line)});
    EXPECT_EQ(ended.code, 65) << line;
    EXPECT_THAT(ended.err, HasSubstr("line 1: " + why)) << line;
  }
  EXPECT_EQ(Doclock({"import", "--key-type", "int", "sagas", File("")}).code, 64);
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
