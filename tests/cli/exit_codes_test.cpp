
#include <fstream>
#include <functional>

#include "cli/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ExitCodeTest : public CliTest {
 protected:
  /// The command by a shell, which adds what follows it on the line.
  Ended InShell(const std::string& words, const std::string& more) {
    return Program({"sh", "-c", std::string(DOCLOCK_CLI) + " " + words + " " + more}, {store})
        .Wait();
  }
  bool Exists(const std::string& name) { return std::filesystem::exists(folder / name); }
};

TEST_F(ExitCodeTest, AreThoseOfTheManual) {
  Holding holder(*this, {"--ttl", "1h", "--group", "g", "job"});
  ASSERT_EQ(Doclock({"put", "sagas", "42"}, R"({"n":1})").code, 0);
  const std::string away = "sqlite:/no/such/folder/x.db";
  struct Case {
    std::vector<std::string> words;
    int code;
    std::string input = "";
  };
  const std::vector<Case> cases{
      {{"--help"}, 0},
      {{"--version"}, 0},
      {{"status"}, 0},
      {{"status", "job"}, 0},
      {{"get", "sagas", "42"}, 0},
      {{"renew", "g"}, 0},
      {{"purge"}, 0},
      {{"run", "free", "--", "true"}, 0},
      {{"run", "free", "--", "sh", "-c", "exit 41"}, 41},
      {{"status", "--frob"}, 64},
      {{"put", "sagas", "42"}, 65, "{"},
      {{"put", "sagas", "42"}, 65, R"({"lockId":1})"},
      {{"put", "sagas", "42"}, 65, "[1]"},
      {{"put", "sagas", "42"}, 65, R"({"n":1,"m":{"n":2},"n":3})"},
      {{"run", "--busy-exit", "010", "job", "--", "true"}, 10},
      {{"get", "sagas", "43"}, 66},
      {{"get", "nothere", "42"}, 66},
      {{"edit", "sagas", "43"}, 66},
      {{"status", "nothere"}, 66},
      {{"status", "free"}, 66},
      {{"status", "--expired", "job"}, 66},
      {{"break", "nothere"}, 66},
      {{"break", "free"}, 66},
      {{"release", "nogroup"}, 66},
      {{"renew", "nogroup"}, 66},
      {{"-c", "nothere", "break", "job"}, 66},
      {{"--store", away, "status"}, 69},
      {{"--store", away, "run", "job", "--", "true"}, 69},
      {{"--store", away, "get", "sagas", "42"}, 69},
      {{"run", "job", "--", "true"}, 75},
      {{"run", "--wait", "50ms", "job", "--", "true"}, 75},
      {{"-c", "locks", "run", "x", "--", "/etc/passwd"}, 126},
      {{"-c", "locks", "run", "x", "--", "/no/such/program"}, 127},
      {{"-c", "locks", "run", "x", "--", "no-such-program-anywhere"}, 127},
      {{"run", "free", "--", "sh", "-c", "kill -TERM $$"}, 128 + SIGTERM},
  };
  for (const Case& one : cases) {
    const Ended ended = Doclock(one.words, one.input);
    EXPECT_EQ(ended.code, one.code) << ::testing::PrintToString(one.words) << ended.err;
    EXPECT_EQ(ended.err.empty(), one.code == 0 || one.code == 41 || one.code > 127)
        << ::testing::PrintToString(one.words) << ended.err;
    EXPECT_THAT(ended.err, Not(HasSubstr("doclock: doclock: ")));
  }
  EXPECT_EQ(Doclock({"run", "--busy-exit", "0", "job", "--", "false"}).code, 0);
  EXPECT_EQ(Doclock({"break", "job"}).code, 0);
}

TEST_F(ExitCodeTest, OutputThatDoesNotArriveIs74) {
  Holding holder(*this, {"--ttl", "1h", "--group", "g", "job"});
  ASSERT_EQ(Doclock({"put", "sagas", "42"}, R"({"n":1})").code, 0);
  for (const std::string words :
       {"--help", "--version", "status", "status --json", "get sagas 42", "get --json sagas 42",
        "renew g", "renew --json g", "purge", "purge --json", "release g"}) {
    for (const std::string where : {"> /dev/full", ">&-"}) {
      if (words == "release g" && where == ">&-") continue;  // it is released
      const Ended ended = InShell(words, where);
      EXPECT_EQ(ended.code, 74) << words << where;
      EXPECT_THAT(ended.err, HasSubstr("the output cannot be written")) << words << where;
    }
  }
  EXPECT_EQ(InShell("status nothere --json", "> /dev/full").code, 66) << "the first thing counts";
}

TEST_F(ExitCodeTest, AClosedPipeEndsItAsItEndsOthers) {
  Holding holder(*this, {"--ttl", "1h", "job"});
  const std::string piped = "status --watch --interval 100ms";
  EXPECT_EQ(Program({"bash", "-c",
                     std::string(DOCLOCK_CLI) + " " + piped +
                         " | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}"},
                    {store})
                .Wait()
                .code,
            128 + SIGPIPE);
  EXPECT_EQ(Program({"bash", "-c",
                     "trap '' PIPE; " + std::string(DOCLOCK_CLI) + " " + piped +
                         " | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}"},
                    {store})
                .Wait()
                .code,
            74);
}

TEST_F(ExitCodeTest, ClosedFilesAreNotMistakenForTheStore) {
  EXPECT_EQ(InShell("run job -- true", "<&- >&- 2>&-").code, 0);
  EXPECT_EQ(InShell("put sagas 42", "<&-").code, 64);
  EXPECT_EQ(InShell("status", "<&- >&- 2>&-").code, 74);
  EXPECT_EQ(Doclock({"run", "job", "--", "true"}).code, 0) << "the file is whole";
}

TEST_F(ExitCodeTest, WhatNeitherTheUserNorTheStoreCanHelpIs70) {
  // All descriptors that it may have are taken, so it cannot look after signals.
  const Ended ended =
      Program({"sh", "-c", "exec <&-; ulimit -n 3; exec " DOCLOCK_CLI " run job -- true"}, {store})
          .Wait();
  EXPECT_EQ(ended.code, 70);
  EXPECT_THAT(ended.err, HasSubstr("doclock: signalfd: "));
}

TEST_F(ExitCodeTest, ATemporaryFolderThatCannotBeUsedIs74) {
  ASSERT_EQ(Doclock({"put", "sagas", "42"}, "{}").code, 0);
  const Ended ended = Program(Command({"edit", "--editor", "true", "sagas", "42"}),
                              {store, "TMPDIR=/no/such/folder"})
                          .Wait();
  EXPECT_EQ(ended.code, 74);
  EXPECT_THAT(ended.err, HasSubstr("TMPDIR"));
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, "{}").code, 0) << "it is unlocked";
}

TEST_F(ExitCodeTest, AStoreThatIsAwayIsNotABusyLock) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  sqlite_test::RawDatabase foreign(folder / "locks.db");
  foreign.Run("BEGIN IMMEDIATE");
  const std::string url = "sqlite:" + (folder / "locks.db") + "?busy_timeout_ms=100";
  for (const char* wait : {"0", "500ms"}) {
    const Ended ended = Doclock({"--store", url, "run", "--wait", wait, "--busy-exit", "0", "job",
                                 "--", "touch", folder / "ran"});
    EXPECT_EQ(ended.code, 69) << wait << ended.err;
    EXPECT_THAT(ended.err, Not(HasSubstr("held by"))) << wait;
  }
  EXPECT_FALSE(Exists("ran"));
}

TEST_F(ExitCodeTest, OnlyWhatWritesMakesAStore) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"status", "x"},
                                             {"get", "c", "x"},
                                             {"edit", "--editor", "true", "c", "x"},
                                             {"renew", "g"},
                                             {"release", "g"},
                                             {"purge"},
                                             {"break", "x"},
                                             {"delete", "c", "x"},
                                             {"collections"},
                                             {"list", "c"},
                                             {"export", "c"},
                                             {"doctor"}}) {
    const Ended ended = Doclock(words);
    EXPECT_EQ(ended.code, 69) << words[0];
    EXPECT_THAT(ended.err, HasSubstr("locks.db")) << words[0];
    EXPECT_FALSE(Exists("locks.db")) << words[0];
    EXPECT_FALSE(Exists("locks.db-doclock")) << words[0];
  }
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"-c", "typo", "status"},
                                             {"get", "typo", "x"},
                                             {"-c", "typo", "renew", "g"},
                                             {"-c", "typo", "release", "g"},
                                             {"-c", "typo", "purge"},
                                             {"-c", "typo", "break", "x"},
                                             {"list", "typo"},
                                             {"export", "typo", folder / "out"},
                                             {"delete", "typo", "x"}}) {
    const Ended ended = Doclock(words);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("typo"), Not(HasSubstr("no such document"))))
        << words[0];
  }
  EXPECT_FALSE(Exists("out"));
  sqlite_test::RawDatabase file(folder / "locks.db");
  EXPECT_EQ(file.Number("SELECT count(*) FROM sqlite_master WHERE name LIKE '%typo%'"), 0);
}

}  // namespace
}  // namespace doclock::cli_test
