#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RunTest : public CliTest {};

TEST_F(RunTest, HoldsTheLockWhileTheCommandRunsAndNoLonger) {
  Holding run(*this, {"job"});
  EXPECT_TRUE(IsHeld("job"));
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(run.Wait().code, 0);
  EXPECT_FALSE(IsHeld("job"));
}

TEST_F(RunTest, PassesArgumentsOutputAndInputThroughWithoutAShell) {
  const Ended echo = Doclock({"run", "job", "--", "echo", "$HOME", "a  b", "--wait"});
  EXPECT_EQ(echo.out, "$HOME a  b --wait\n");
  EXPECT_EQ(Doclock({"run", "job", "--", "cat"}, "hello").out, "hello");
}

TEST_F(RunTest, ABusyLockEndsWith75OrWhatIsAskedFor) {
  Holding run(*this, {"--owner", "me", "job"});
  const Ended busy = Doclock({"run", "job", "--", "true"});
  EXPECT_EQ(busy.code, 75);
  EXPECT_THAT(busy.err, HasSubstr("'job'"));
  EXPECT_THAT(busy.err, HasSubstr("me ("));
  EXPECT_EQ(Doclock({"run", "--busy-exit", "0", "job", "--", "false"}).code, 0);
  EXPECT_EQ(Doclock({"run", "--wait", "50ms", "job", "--", "true"}).code, 75);
}

TEST_F(RunTest, WaitsForTheLock) {
  Holding first(*this, {"job"});
  Program second(Run({"--wait", "1m", "job"}, {"true"}), {store});
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(second.Wait().code, 0);
  EXPECT_EQ(first.Wait().code, 0);
}

TEST_F(RunTest, StatusShowsWhoWaits) {
  Holding first(*this, {"job"});
  EXPECT_THAT(Doclock({"status"}).out, Not(HasSubstr("wait")));
  Program second(Run({"--wait", "1m", "--owner", "the second", "job"}, {"true"}), {store});
  EXPECT_TRUE(Eventually([&] {
    return Doclock({"status"}).out.find("job: processes that wait: 1, the next: the second (") !=
           std::string::npos;
  }));
  const auto shown = nlohmann::json::parse(Doclock({"status", "--json"}).out);
  EXPECT_EQ(shown.at(0).at("waiting"), 1);
  EXPECT_THAT(shown.at(0).at("next").get<std::string>(), HasSubstr("the second ("));
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(second.Wait().code, 0);
  EXPECT_EQ(first.Wait().code, 0);
}

TEST_F(RunTest, ASignalEndsTheWait) {
  Holding first(*this, {"job"});
  Program second(Run({"--wait", "forever", "job"}, {"touch", folder / "ran"}), {store});
  // It looks after signals before it opens the file.
  ASSERT_TRUE(Eventually([&] {
    return TextOf("/proc/" + std::to_string(second.pid()) + "/maps").find("locks.db-doclock") !=
           std::string::npos;
  }));
  second.Signal(SIGTERM);
  EXPECT_EQ(second.Wait().code, 128 + SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(folder / "ran"));
}

TEST_F(RunTest, SignalsPassThroughToTheWholeGroup) {
  Program run(Run({"job"}, {"sh", "-c",
                            "trap 'echo caught; exit 3' USR1; echo > '" + (folder / "here") +
                                "'; while :; do sleep 0.01; done"}),
              {store});
  ASSERT_TRUE(IsThere());
  run.Signal(SIGUSR1);
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "caught\n");
  EXPECT_FALSE(IsHeld("job"));
}

TEST_F(RunTest, TheCommandHasAGroupOfItsOwn) {
  const Ended ended =
      Doclock({"run", "job", "--", "sh", "-c", "set -- $(cat /proc/$$/stat); [ $5 = $$ ]"});
  EXPECT_EQ(ended.code, 0) << ended.err;
}

TEST_F(RunTest, TellsTheFenceIfAsked) {
  const std::vector<std::string> command = {"run", "--fence-env", "FENCE", "job",
                                            "--",  "sh",          "-c",    "echo $FENCE"};
  const std::string first = Doclock(command).out;
  const std::string second = Doclock(command).out;
  EXPECT_EQ(first, "1\n");
  EXPECT_GT(std::stoll(second), 1);
  EXPECT_EQ(Doclock({"run", "job", "--", "sh", "-c", "echo $FENCE"}).out, "\n");
}

TEST_F(RunTest, ANestedOneTellsItsOwnFence) {
  const std::string look = "env | grep -c ^FENCE=; echo $FENCE";
  ASSERT_EQ(Doclock({"run", "inner", "--", "true"}).code, 0);
  const std::vector<std::string> inner =
      Command({"--store", "sqlite:" + (folder / "locks.db"), "run", "--fence-env", "FENCE", "inner",
               "--", "sh", "-c", look});
  const Ended ended = Program(Run({"--fence-env", "FENCE", "outer"}, inner), {store}).Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, ::testing::StartsWith("1\n"));
  EXPECT_THAT(ended.out, Not(HasSubstr("1\n1\n"))) << "that is the fence of the outer one";
}

TEST_F(RunTest, KillAfterZeroIsNoTermAtAll) {
  const std::string trap = "trap 'echo term; exit 0' TERM; echo > '" + (folder / "here") +
                           "'; while :; do sleep 0.01; done";
  Program run(Run({"--ttl", "1s", "--kill-after", "0", "job"}, {"sh", "-c", trap}), {store});
  ASSERT_TRUE(IsThere());
  ASSERT_EQ(Doclock({"break", "job"}).code, 0);
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 76);
  EXPECT_EQ(ended.out, "");
}

TEST_F(RunTest, TheStoresUrlIsHiddenFromTheCommandAndFromPs) {
  const std::string url = "sqlite:" + (folder / "secret.db");
  const std::string look =
      "env; tr '\\0' ' ' < /proc/$PPID/cmdline; tr '\\0' ' ' < /proc/$PPID/environ";
  const auto by_option =
      Program(Command({"run", "--store", url, "job", "--", "sh", "-c", look})).Wait();
  EXPECT_EQ(by_option.code, 0) << by_option.err;
  EXPECT_THAT(by_option.out, Not(HasSubstr("secret.db")));
  const auto by_variable =
      Program(Command({"run", "job", "--", "sh", "-c", look}), {"DOCLOCK_STORE=" + url}).Wait();
  EXPECT_EQ(by_variable.code, 0) << by_variable.err;
  EXPECT_THAT(by_variable.out, HasSubstr("PATH="));
  EXPECT_THAT(by_variable.out, Not(HasSubstr("secret.db")));
  std::ofstream(folder / "url") << url << '\n';
  EXPECT_EQ(
      Program(Command({"run", "--store-file", folder / "url", "job", "--", "true"})).Wait().code,
      0);
}

TEST_F(RunTest, MinHoldKeepsTheLockClosed) {
  EXPECT_EQ(Doclock({"run", "--min-hold", "1h", "cron", "--", "true"}).code, 0);
  EXPECT_EQ(Doclock({"run", "cron", "--", "true"}).code, 75);
}

TEST_F(RunTest, BadOptionsEndWith64AndNameTheOption) {
  EXPECT_THAT(Doclock({"run", "--wait", "soon", "job", "--", "true"}).err, HasSubstr("--wait"));
  EXPECT_EQ(Doclock({"run", "--ttl", "1ms", "job", "--", "true"}).code, 64);
  const Ended without = Program(Command({"run", "job", "--", "true"})).Wait();
  EXPECT_EQ(without.code, 64);
  EXPECT_THAT(without.err, HasSubstr("--store"));
}

TEST_F(RunTest, KillingItKillsTheCommandAndFreesTheLock) {
  Holding run(*this, {"job"});
  const pid_t stayer = Stayer();
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait().code, 128 + SIGKILL);
  EXPECT_TRUE(Eventually([&] { return !Exists(stayer); }));
  EXPECT_EQ(Doclock({"run", "--wait", "20s", "job", "--", "true"}).code, 0);
}

TEST_F(RunTest, KillingItAloneDoesNotFreeTheLockWhileSomethingOfItsCommandWorks) {
  // A grandchild, which the death of its parent's parent does not reach.
  const std::string child = "(while ! [ -e '" + (folder / "go") + "' ]; do sleep 0.01; done) & " +
                            "echo $! > '" + (folder / "here") + "'; wait";
  Program run(Run({"--ttl", "1h", "job"}, {"sh", "-c", child}), {store});
  ASSERT_TRUE(Eventually([&] { return TextOf(folder / "here").ends_with("\n"); }));
  const pid_t worker = Stayer();
  run.Signal(SIGKILL);
  run.Wait();
  EXPECT_TRUE(Exists(worker));
  EXPECT_EQ(Doclock({"run", "job", "--", "true"}).code, 75);
  // That was the last one to close the database, and SQLite has deleted the log.
  EXPECT_EQ(Doclock({"run", "job", "--", "true"}).code, 75);
  EXPECT_EQ(Doclock({"run", "other", "--", "true"}).code, 0);
  std::ofstream(folder / "go").put('x');
  EXPECT_TRUE(Eventually([&] { return !Exists(worker); }));
  EXPECT_EQ(Doclock({"run", "--wait", "20s", "job", "--", "true"}).code, 0);
}

TEST_F(RunTest, StoppedPastItsLeaseItKillsTheCommandOnResuming) {
  Holding run(*this, {"--ttl", "300ms", "job"});
  const pid_t stayer = Stayer();
  run.Signal(SIGSTOP);
  // The lease ends by the real clock; a waiter gets the lock then.
  EXPECT_EQ(Doclock({"run", "--wait", "20s", "job", "--", "true"}).code, 0);
  run.Signal(SIGCONT);
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 76);
  EXPECT_THAT(ended.err, HasSubstr("lost"));
  EXPECT_FALSE(Exists(stayer));
}

TEST_F(RunTest, ABrokenLockEndsTheCommand) {
  Holding run(*this, {"--ttl", "300ms", "job"});
  const pid_t stayer = Stayer();
  EXPECT_EQ(Doclock({"break", "job"}).code, 0);
  EXPECT_EQ(run.Wait().code, 76);
  EXPECT_FALSE(Exists(stayer));
}

/// A full pipe, and one whose reader is gone: whoever gets the lock next must not meet the command.
TEST_F(RunTest, ABrokenLockEndsTheCommandWhoeverReadsItsErrors) {
  for (const bool has_reader : {true, false}) {
    std::filesystem::remove(folder / "here");
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::vector<char> block(4096);
    if (has_reader) {
      ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
      while (::write(ends[1], block.data(), block.size()) > 0) continue;
      ::fcntl(ends[1], F_SETFL, 0);
    } else {
      ::close(ends[0]);
    }
    std::vector<std::string> command{"bash", "-c", "exec \"$@\" 2>&" + std::to_string(ends[1]),
                                     "bash"};
    for (const std::string& part : Run({"--ttl", "300ms", "job"}, Staying())) {
      command.push_back(part);
    }
    Program run(command, {store});
    ASSERT_TRUE(IsThere());
    const pid_t stayer = Stayer();
    EXPECT_EQ(Doclock({"break", "job"}).code, 0);
    EXPECT_TRUE(Eventually([&] { return !Exists(stayer); }));
    block.resize(1 << 20);
    if (has_reader) {  // so that it can tell, and end
      EXPECT_GT(::read(ends[0], block.data(), block.size()), 0);
    }
    EXPECT_EQ(run.Wait().code, 76);
    if (has_reader) ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST_F(RunTest, TheMessageOfALostLockTellsHowTheCommandEnded) {
  for (const auto& [end, told] : std::vector<std::pair<std::string, std::string>>{
           {"exit 3", "the command ended with exit code 3"},
           {"kill -9 $$", "signal 9 ended the command"}}) {
    std::filesystem::remove(folder / "go");
    std::filesystem::remove(folder / "here");
    auto staying = Staying();
    staying.back() += "; " + end;
    Program run(Run({"--ttl", "1h", "job"}, staying), {store});
    ASSERT_TRUE(IsThere());
    ASSERT_EQ(Doclock({"break", "job"}).code, 0);
    std::ofstream(folder / "go").put('x');
    const Ended ended = run.Wait();
    EXPECT_EQ(ended.code, 76);
    EXPECT_THAT(ended.err, HasSubstr(told));
  }
}

TEST_F(RunTest, TheDriverOfAnotherStorePrintsNothing) {
  // A file of libmongoc's that is in its way, as one that a killed process left.
  const std::string script =
      "shm=/dev/shm/mongoc-$$; echo > $shm; unset MONGOC_DISABLE_SHM; exec " +
      std::string(DOCLOCK_CLI) + " run job -- rm $shm";
  const Ended ended = Program({"bash", "-c", script}, {store}).Wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(ended.out, "");
}

TEST_F(RunTest, TermComesBeforeTheEndOfALeaseThatCannotBeRenewed) {
  const std::string trap = "trap 'echo term; exit 0' TERM; echo > '" + (folder / "here") +
                           "'; while :; do sleep 0.01; done";
  Program run(Run({"--ttl", "2s", "--kill-after", "900ms", "job"}, {"sh", "-c", trap}), {store});
  ASSERT_TRUE(IsThere());
  // Another program keeps the file to itself: nothing can be written.
  sqlite_test::RawDatabase foreign(folder / "locks.db");
  foreign.Run("BEGIN IMMEDIATE");
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 76);
  EXPECT_EQ(ended.out, "term\n") << "it had the time to end by itself";
  EXPECT_THAT(ended.err, HasSubstr("cannot be renewed"));
}

TEST_F(RunTest, OrphansAreReaped) {
  // In a namespace of its own the command is process 1.
  Program probe({"unshare", "-Urpf", "--mount-proc", "true"});
  if (probe.Wait().code != 0) GTEST_SKIP() << "no user namespaces here";
  auto run = Run({"job"}, {"sh", "-c",
                           "(sh -c 'sleep 0.05 & exec true' ); sleep 0.3; "
                           "cat /proc/[0-9]*/status | grep -c '^State:.Z'; exit 0"});
  run.insert(run.begin(), {"unshare", "-Urpf", "--mount-proc"});
  const Ended ended = Program(run, {store}).Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "0\n");
}

}  // namespace
}  // namespace doclock::cli_test
