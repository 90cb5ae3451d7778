#include <fstream>

#include "cli/harness.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kMark = "\xef\xbb\xbf";

/// What the command reads from files and from standard input.
class InputTest : public CliTest {
 protected:
  std::string File(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return folder / name;
  }
};

TEST_F(InputTest, NothingIsDroppedBehindANul) {
  ASSERT_EQ(Doclock({"put", "sagas", "1"}, "{}").code, 0);
  const std::string good = R"({"key":"2","body":{}})";
  const std::string nul(1, '\0');
  const Ended put = Doclock({"put", "sagas", "1"}, R"({"a":1})" + nul + R"({"b":2})");
  EXPECT_EQ(put.code, 65);
  EXPECT_THAT(put.err, HasSubstr("this is not valid JSON: it holds a NUL byte\n"));
  const Ended import =
      Doclock({"import", "sagas", File("lines", good + nul + R"({"key":"3","body":{}})")});
  EXPECT_EQ(import.code, 65);
  EXPECT_THAT(import.err, HasSubstr("line 1: this is not valid JSON: it holds a NUL byte"));
  const Ended edit =
      Doclock({"edit", "--editor", "cp '" + File("edited", R"({"a":2})" + nul + "more") + "'",
               "sagas", "1"});
  EXPECT_EQ(edit.code, 65);
  EXPECT_THAT(edit.err, HasSubstr("a NUL byte"));
  EXPECT_EQ(Doclock({"list", "--keys", "sagas"}).out, "1\n");
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "1"}).out, "{}\n");
}

TEST_F(InputTest, ATextWithoutAnEndIsRefused) {
  ASSERT_EQ(Doclock({"put", "sagas", "1"}, "{}").code, 0);
  for (const char* endless : {"/dev/zero", "/dev/full"}) {
    const Ended put = Doclock({"put", "sagas", "1", endless});
    EXPECT_EQ(put.code, 65);
    EXPECT_THAT(put.err, HasSubstr("the text is longer than"));
    const Ended import = Doclock({"import", "sagas", endless});
    EXPECT_EQ(import.code, 65);
    EXPECT_THAT(import.err, HasSubstr("line 1: the text is longer than"));
  }
}

TEST_F(InputTest, ALockFileHoldsAnIdOrIsRefused) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  const std::string id = "6f1c36ce-06a8-4f3d-8b57-0b38dfc7a6ac";
  const std::string nul(1, '\0');
  for (const std::string& bad :
       {std::string(), std::string("garbage"), std::string("[]"), std::string("5"),
        std::string(R"({"id":"x"})"), std::string(R"({"id":null,"time":null,"version":1})"),
        R"({"id":")" + id + R"(","time":null,"version":1})" + nul + "x", id + "x", id + nul,
        id + "\n" + id, kMark}) {
    for (const char* verb : {"release", "renew"}) {
      const Ended ended = Doclock({verb, "--lock-file", File("id", bad), "job"});
      EXPECT_EQ(ended.code, 64) << bad << ended.err;
      EXPECT_THAT(ended.err, HasSubstr("--lock-file: FILE must hold the id of a lock"));
      EXPECT_THAT(ended.err, Not(HasSubstr(id)));
    }
  }
  EXPECT_EQ(Doclock({"release", "--lock-file", File("id", kMark + id + "\r\n"), "job"}).code, 66);
  EXPECT_EQ(Doclock({"release", "--lock-file", "-", "job"}, id).code, 66);
  EXPECT_EQ(Doclock({"release", "--lock-file", folder / "none", "job"}).code, 64);
}

TEST_F(InputTest, AByteOrderMarkIsLeftOut) {
  EXPECT_EQ(Doclock({"put", "sagas", "1"}, kMark + R"({"n":1})").code, 0);
  EXPECT_EQ(Doclock({"import", "sagas"}, kMark + R"({"key":"2","body":{"n":2}})" + "\r\n").code, 0);
  EXPECT_EQ(Doclock({"import", "sagas"}, kMark + "\n").out, "0 documents imported\n");
  EXPECT_EQ(Doclock({"--store-file", File("url", kMark + "sqlite:" + (folder / "other.db")), "run",
                     "job", "--", "true"})
                .code,
            0);
  EXPECT_TRUE(std::filesystem::exists(folder / "other.db"));
}

TEST_F(InputTest, WhatIsNotInUtf8IsToldSo) {
  const std::string nul(1, '\0');
  const std::string utf16 = "\xff\xfe{" + nul + "}" + nul;
  EXPECT_THAT(Doclock({"put", "sagas", "1"}, "{\"a\":\"\xe4\"}").err, HasSubstr("UTF-8"));
  const Ended url = Doclock({"--store-file", File("url", utf16), "run", "job", "--", "true"});
  EXPECT_EQ(url.code, 64);
  EXPECT_THAT(url.err, HasSubstr("--store-file: the first line of"));
  EXPECT_THAT(url.err, HasSubstr("is no URL in UTF-8"));
  const Ended cut = Doclock({"--store-file", File("url", "sqlite:" + (folder / "x.db") + nul + "y"),
                             "run", "job", "--", "true"});
  EXPECT_EQ(cut.code, 64);
  EXPECT_FALSE(std::filesystem::exists(folder / "x.db"));
}

TEST_F(InputTest, InputThatCannotBeReadIsNotTakenForItsEnd) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);  // makes the store
  for (const auto& [words, option] : std::vector<std::pair<std::string, std::string>>{
           {"put sagas 1", "FILE"},
           {"import sagas", "FILE"},
           {"release --lock-file - job", "--lock-file"},
           {"renew --lock-file - job", "--lock-file"}}) {
    for (const std::string& from : {std::string("<&-"), "< '" + (folder / ".") + "'"}) {
      const Ended ended =
          Program({"sh", "-c", std::string(DOCLOCK_CLI) + " " + words + " " + from}, {store})
              .Wait();
      EXPECT_EQ(ended.code, 64) << words << from << ended.err;
      EXPECT_THAT(ended.err, HasSubstr(option + ": standard input cannot be read: "))
          << words << from;
    }
  }
}

TEST_F(InputTest, AStoreFileThatCannotBeReadSaysWhy) {
  for (const auto& [file, why] : std::vector<std::pair<std::string, std::string>>{
           {folder / "none", "cannot be read: No such file or directory"},
           {folder / ".", "cannot be read: Is a directory"},
           {File("empty", ""), "is no URL in UTF-8"},
           {File("blank", "\r\nsqlite:x.db\n"), "is no URL in UTF-8"}}) {
    const Ended ended = Doclock({"--store-file", file, "status"});
    EXPECT_EQ(ended.code, 64) << file << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("--store-file: ")) << file;
    EXPECT_THAT(ended.err, HasSubstr(why)) << file;
  }
}

}  // namespace
}  // namespace doclock::cli_test
