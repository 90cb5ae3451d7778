#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Characters that a terminal obeys, or that hide or turn others.
const std::vector<std::string> kControls{"\x01",         "\x1b",
                                         "\x7f",         "\xc2\x80",
                                         "\xc2\x9b",     "\xd8\x9c",
                                         "\xe2\x80\x8b", "\xe2\x80\x8e",
                                         "\xe2\x80\x8f", "\xe2\x80\xa8",
                                         "\xe2\x80\xaa", "\xe2\x80\xae",
                                         "\xe2\x81\xa0", "\xe2\x81\xa6",
                                         "\xe2\x81\xa9", "\xef\xbb\xbf",
                                         "\xef\xbf\xb9", "\xc2\xad",
                                         "\xe2\x80\x8d", "\xe3\x85\xa4",
                                         "\xef\xb8\x8f", "\xf3\xa0\x81\x81"};

std::string AllControls() {
  std::string all;
  for (const std::string& one : kControls) all += one;
  return all;
}

class PrintedTextTest : public CliTest {
 protected:
  static void ExpectClean(const Ended& ended, const std::string& what) {
    for (const std::string& raw : kControls) {
      EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(raw))) << what;
    }
  }
};

TEST_F(PrintedTextTest, DocumentsAreEscapedAndTheSameJson) {
  const std::string evil = "a\xc3\xbc\"\\\xf0\x9f\x98\x80" + AllControls();
  const json body{{evil, json::array({evil, 1})}};
  ASSERT_EQ(Doclock({"put", "sagas", "--", evil}, body.dump()).code, 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"get", "sagas", evil},
                                             {"get", "--json", "sagas", evil},
                                             {"get", "--full", "sagas", evil},
                                             {"list", "--json", "sagas"},
                                             {"list", "--json", "--keys", "sagas"},
                                             {"export", "sagas"}}) {
    const Ended ended = Doclock(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    ExpectClean(ended, words[0]);
    json printed = json::parse(ended.out);
    if (printed.contains("key")) {
      EXPECT_EQ(printed.at("key"), evil);
      printed = printed.value("body", body);
    }
    EXPECT_EQ(printed, body) << words[0];
  }
  ExpectClean(Doclock({"list", "sagas"}), "list");
  ExpectClean(Doclock({"list", "--keys", "sagas"}), "list --keys");
  ExpectClean(Doclock({"delete", "--if-version", "9", "sagas", evil}), "delete");
  ASSERT_EQ(Doclock({"export", "sagas", folder / "out"}).code, 0);
  ASSERT_EQ(Doclock({"import", "copies", folder / "out"}).code, 0);
  EXPECT_EQ(json::parse(Doclock({"get", "copies", evil}).out), body);
}

TEST_F(PrintedTextTest, NamesOfLocksComeBackExactly) {
  const std::string evil = "\n\"'\\x41" + AllControls();
  Holding run(*this, {"--owner", evil, "--group", evil, "job" + evil});
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"status", "--json"}, {"renew", "--json", evil}, {"release", "--json", evil}}) {
    const Ended ended = Doclock(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    ExpectClean(ended, words[0]);
    EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 1);
    json lock = json::parse(ended.out);
    if (lock.contains("renewed")) lock = lock.at("renewed");
    if (lock.contains("released")) lock = lock.at("released");
    if (lock.is_array()) lock = lock.at(0);
    EXPECT_EQ(lock.at("name"), "job" + evil);
    EXPECT_EQ(lock.at("owner"), evil);
    EXPECT_EQ(lock.at("group"), evil);
  }
}

TEST_F(PrintedTextTest, PlainTextOfLocksIsClean) {
  const std::string evil = AllControls();
  Holding run(*this, {"--owner", evil, "--group", evil, "job" + evil});
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"run", "job" + evil, "--", "true"},
                                             {"renew", evil},
                                             {"status", "no" + evil},
                                             {"release", "no" + evil},
                                             {"get", "sagas", evil},
                                             {evil},
                                             {"run", "--wait", evil, "job", "--", "true"},
                                             {"import", "sagas", evil},
                                             {"break", "--by", evil, "job" + evil}}) {
    ExpectClean(Doclock(words), words[0]);
  }
}

}  // namespace
}  // namespace doclock::cli_test
