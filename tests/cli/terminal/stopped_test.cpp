
#include <fstream>

#include "cli/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;

/// `run` whose command was stopped by another program, as by a debugger or by kill -STOP.
class StoppedTest : public CliTest {
 protected:
  /// A command that does this, says that it is there, and stops.
  std::vector<std::string> Stopping(const std::string& first) {
    return {"sh", "-c",
            first + "; echo $$ > '" + (folder / "here.new") + "'; mv '" + (folder / "here.new") +
                "' '" + (folder / "here") + "'; kill -STOP $$; while :; do sleep 0.01; done"};
  }
  bool HasStopped() {
    return IsThere() && Eventually([&] {
             const std::string stat = TextOf("/proc/" + std::to_string(Stayer()) + "/stat");
             const auto name = stat.rfind(") ");
             return name != stat.npos && stat[name + 2] == 'T';
           });
  }
};

TEST_F(StoppedTest, WhatAsksItToEndReachesACommandThatIsStopped) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    std::filesystem::remove(folder / "here");
    Program run(Run({"--ttl", "1h", "job"}, Stopping("ulimit -c 0")), {store});
    ASSERT_TRUE(HasStopped());
    run.Signal(signal);
    EXPECT_EQ(run.Wait().code, 128 + signal);
    EXPECT_FALSE(IsHeld("job"));
  }
}

TEST_F(StoppedTest, TheCommandMayCleanUpFirst) {
  Program run(Run({"--ttl", "1h", "job"}, Stopping("trap 'echo cleaned; exit 3' TERM")), {store});
  ASSERT_TRUE(HasStopped());
  run.Signal(SIGTERM);
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "cleaned\n");
}

TEST_F(StoppedTest, AStoppedCommandWhoseLockCannotBeRenewedIsEnded) {
  Program run(Run({"--ttl", "2s", "--kill-after", "900ms", "job"},
                  Stopping("trap 'echo term; exit 0' TERM")),
              {store});
  ASSERT_TRUE(HasStopped());
  // Another program keeps the file to itself: nothing can be written.
  sqlite_test::RawDatabase foreign(folder / "locks.db");
  foreign.Run("BEGIN IMMEDIATE");
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 76);
  EXPECT_THAT(ended.err, HasSubstr("cannot be renewed"));
}

TEST_F(StoppedTest, AStoppedCommandWhoseLockIsBrokenIsKilled) {
  Program run(Run({"--ttl", "300ms", "job"}, Stopping("trap '' TERM")), {store});
  ASSERT_TRUE(HasStopped());
  const pid_t stopped = Stayer();
  ASSERT_EQ(Doclock({"break", "job"}).code, 0);
  EXPECT_EQ(run.Wait().code, 76);
  EXPECT_FALSE(Exists(stopped));
}

TEST_F(StoppedTest, OtherSignalsDoNotLetItGoOn) {
  Program run(Run({"--ttl", "1h", "job"}, Stopping("trap 'touch \"" + (folder / "went-on") +
                                                   "\"' CONT; trap 'exit 4' USR1")),
              {store});
  ASSERT_TRUE(HasStopped());
  run.Signal(SIGUSR1);
  run.Signal(SIGWINCH);
  ShortPause();
  EXPECT_FALSE(std::filesystem::exists(folder / "went-on"));
  run.Signal(SIGCONT);
  EXPECT_EQ(run.Wait().code, 4);
}

}  // namespace
}  // namespace doclock::cli_test
