#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The command's handling of terminals and signals.
class TerminalTest : public CliTest {
 protected:
  /// Does the program wait for the lock? It looks after signals before it opens the file.
  bool Waits(const Program& program) {
    return Eventually([&] {
      return TextOf("/proc/" + std::to_string(program.pid()) + "/maps").find("locks.db-doclock") !=
             std::string::npos;
    });
  }
  static char StateOf(pid_t process) {
    const std::string stat = TextOf("/proc/" + std::to_string(process) + "/stat");
    const auto name = stat.rfind(") ");
    return name == stat.npos ? 'X' : stat[name + 2];
  }
};

TEST_F(TerminalTest, NohupKeepsItWaitingAndItsCommandRunning) {
  Holding first(*this, {"job"});
  std::vector<std::string> line =
      Run({"--wait", "1m", "job"}, {"sh", "-c", "kill -HUP $$; exit 5"});
  line.insert(line.begin(), "nohup");
  Program second(line, {store});
  ASSERT_TRUE(Waits(second));
  second.Signal(SIGHUP);
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(second.Wait().code, 5);
}

TEST_F(TerminalTest, CtrlZStopsItWhileItWaits) {
  Holding first(*this, {"job"});
  Program second(Run({"--wait", "1m", "job"}, {"true"}), {store});
  ASSERT_TRUE(Waits(second));
  second.Signal(SIGTSTP);
  EXPECT_TRUE(Eventually([&] { return StateOf(second.pid()) == 'T'; }));
  second.Signal(SIGCONT);
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(second.Wait().code, 0);
}

// The commands below start nothing when they are to stop: a shell that waits in vfork() does not.

TEST_F(TerminalTest, CtrlZStopsItWithItsCommandInAPipeline) {
  const std::string stay = "echo $$ > '" + (folder / "here") + "'; exec sleep 1000";
  Program run(Run({"--ttl", "1h", "job"}, {"sh", "-c", stay}), {store});
  ASSERT_TRUE(Eventually([&] { return TextOf(folder / "here").ends_with("\n"); }));
  run.Signal(SIGTSTP);
  EXPECT_TRUE(Eventually([&] { return StateOf(run.pid()) == 'T' && StateOf(Stayer()) == 'T'; }));
  run.Signal(SIGCONT);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().code, 128 + SIGTERM);
}

TEST_F(TerminalTest, CtrlZDoesNotStopItWhileItsCommandGoesOn) {
  std::vector<std::string> command = Staying();
  command.back().insert(0, "trap '' TSTP; ");
  Program run(Run({"--ttl", "1h", "job"}, command), {store});
  ASSERT_TRUE(IsThere());
  run.Signal(SIGTSTP);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().code, 128 + SIGTERM) << "stopped, it would pass nothing on";
}

TEST_F(TerminalTest, CtrlZStopsAllOfTheCommandsGroup) {
  const std::string child = "(trap '' TSTP; echo > '" + (folder / "deaf") +
                            "'; exec sleep 1000) & echo $! > '" + (folder / "here") + "'; wait";
  Program run(Run({"--ttl", "1h", "job"}, {"sh", "-c", child}), {store});
  ASSERT_TRUE(Eventually([&] {
    return std::filesystem::exists(folder / "deaf") && TextOf(folder / "here").ends_with("\n");
  }));
  run.Signal(SIGTSTP);
  EXPECT_TRUE(Eventually([&] { return StateOf(run.pid()) == 'T'; }));
  EXPECT_TRUE(Eventually([&] { return StateOf(Stayer()) == 'T'; }))
      << "it works on, and its lock is not renewed";
  run.Signal(SIGCONT);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().code, 128 + SIGTERM);
}

TEST_F(TerminalTest, StoppedPastItsLeaseTheCommandDoesNotGoOn) {
  const std::string command = "trap 'touch \"" + (folder / "went-on") +
                              "\"' CONT; sleep 1000 & echo > '" + (folder / "here") + "'; wait";
  Program run(Run({"--ttl", "1s", "job"}, {"sh", "-c", command}), {store});
  ASSERT_TRUE(IsThere());
  run.Signal(SIGTSTP);
  ASSERT_TRUE(Eventually([&] { return StateOf(run.pid()) == 'T'; }));
  EXPECT_EQ(Doclock({"run", "--wait", "20s", "job", "--", "true"}).code, 0);
  run.Signal(SIGCONT);
  EXPECT_EQ(run.Wait().code, 76);
  EXPECT_FALSE(std::filesystem::exists(folder / "went-on"));
}

/// Runs a line of a shell as the foreground of a terminal of its own, and ends it (SIGTERM) once
/// `enough` was printed. A question is answered with n. @return what was printed
std::string OnATerminal(const std::string& line, const std::string& variable,
                        const std::string& enough = {}) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_TRUE(master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0);
  const std::string name = ::ptsname(master);
  const pid_t shell = ::fork();
  if (shell == 0) {
    ::setsid();
    const int slave = ::open(name.c_str(), O_RDWR);
    for (const int number : {0, 1, 2}) ::dup2(slave, number);
    ::putenv(const_cast<char*>(variable.c_str()));
    ::execlp("sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(125);
  }
  const std::string question = "[Y/n] ";
  std::string printed;
  std::size_t answered = 0;
  char text[1000];
  for (ssize_t got = 0; (got = ::read(master, text, sizeof text)) > 0;) {
    printed.append(text, static_cast<std::size_t>(got));
    // More may have been printed behind it meanwhile.
    for (auto at = printed.find(question, answered); at != printed.npos;
         at = printed.find(question, answered)) {
      EXPECT_EQ(::write(master, "n\n", 2), 2);
      answered = at + question.size();
    }
    if (!enough.empty() && printed.find(enough) != printed.npos) ::kill(shell, SIGTERM);
  }
  ::waitpid(shell, nullptr, 0);
  ::close(master);
  return printed;
}

TEST_F(TerminalTest, ItsCommandHasTheTerminalButNotThatOfAPipeline) {
  // tpgid is the group that has the terminal, pgrp that of the command.
  const std::string look =
      " run job -- sh -c 'read -r pid name state parent group session tty has "
      "rest < /proc/self/stat; [ $has = $group ] && echo mine || echo foreign'";
  EXPECT_THAT(OnATerminal(DOCLOCK_CLI + look, store), HasSubstr("mine"));
  const std::string piped = OnATerminal(DOCLOCK_CLI + look + " | cat", store);
  EXPECT_THAT(piped, HasSubstr("foreign"));
  EXPECT_THAT(piped, Not(HasSubstr("mine")));
}

/// Jobs of a shell as people use it, with a process group for each. What `ask` asks is answered
/// with n.
class JobsTest : public TerminalTest {
 protected:
  std::string OfJobs(const std::string& script, const std::string& enough) {
    std::ofstream(folder / "ask") << "printf '[Y/n] ' >/dev/tty; read -r a </dev/tty; echo $1$a\n";
    const std::string file = folder / "jobs";
    std::ofstream(file) << "run='" DOCLOCK_CLI " run job -- sh'; cd '" << (folder / ".") << "'\n"
                        << script << '\n';
    return OnATerminal("exec bash -m '" + file + "'", store, enough);
  }
};

TEST_F(JobsTest, ACommandInAPipelineGetsTheTerminalAndThenTheOthersHaveIt) {
  const std::string printed =
      OfJobs("$run ask got- | sh -c 'cat; . ./ask then-' sh then-; echo over", "over");
  EXPECT_THAT(printed, AllOf(HasSubstr("got-n"), HasSubstr("then-n")));
}

TEST_F(JobsTest, OthersOfAPipelineGetTheTerminalThatItsCommandHas) {
  const std::string printed =
      OfJobs("$run -c '. ./ask; echo got; exec sleep 1000' sh | sh -c 'read -r a; sh ask then-'",
             "then-n");
  EXPECT_THAT(printed, HasSubstr("then-n"));
}

TEST_F(JobsTest, ACommandInTheBackgroundStopsAllOfItsJobAndReadsInTheForeground) {
  const std::string printed = OfJobs(
      "$run ask got- | cat &\nuntil jobs -s | grep -q Stopped; do sleep 0.01; done\n"
      "echo stopped; fg >/dev/null; echo over",
      "over");
  EXPECT_THAT(printed, AllOf(HasSubstr("stopped"), HasSubstr("got-n")));
}

TEST_F(JobsTest, CtrlZStopsTheCommandAndThoseWhoShareItsPipeline) {
  const std::string printed = OfJobs(
      "$run -c '. ./ask; kill -TSTP 0; echo went-on' | cat\n"
      "jobs -s | grep -q Stopped && echo stopped; fg >/dev/null; echo over",
      "over");
  EXPECT_THAT(printed, AllOf(HasSubstr("stopped"), HasSubstr("went-on")));
}

TEST_F(JobsTest, InTheBackgroundItLeavesTheTerminalToTheShell) {
  const std::string printed = OfJobs(
      "$run -c 'kill -STOP $$; exit 0'\njobs -s | grep -q Stopped && echo stopped\n"
      "bg >/dev/null; wait; sh ask shell-; echo over",
      "over");
  EXPECT_THAT(printed, AllOf(HasSubstr("stopped"), HasSubstr("shell-n")));
}

TEST_F(TerminalTest, OnlyATerminalIsCleared) {
  Holding run(*this, {"job"});
  const std::string watch = DOCLOCK_CLI " status --watch --interval 100ms";
  EXPECT_THAT(OnATerminal("exec " + watch, store, "job"), HasSubstr("\x1b[2J"));
  // Not on a terminal, but to a file.
  const std::string file = folder / "watched";
  Program piped({"sh", "-c", "exec " + watch + " > '" + file + "'"}, {store});
  EXPECT_TRUE(Eventually([&] { return TextOf(file).find("job") != std::string::npos; }));
  piped.Signal(SIGTERM);
  piped.Wait();
  EXPECT_THAT(TextOf(file), Not(HasSubstr("\x1b")));
}

TEST_F(TerminalTest, WhatOthersWroteDoesNotReachTheTerminal) {
  const std::string evil =
      "\x1b]0;evil\x07\xc2\x9b"
      "31m\ndone";
  Holding run(*this, {"--owner", evil, "--group", evil, "job" + evil});
  std::string shown = Doclock({"status"}).out;
  const Ended busy = Doclock({"run", "job" + evil, "--", "true"});
  EXPECT_EQ(busy.code, 75);
  shown += busy.err + Doclock({"renew", evil}).out + Doclock({"release", evil}).out;
  shown += Doclock({"release", evil}).err + Doclock({"status", evil}).err;
  EXPECT_THAT(shown, HasSubstr("\\x1b]0;evil\\x07\\xc2\\x9b31m\\x0adone"));
  for (const char* raw : {"\x1b", "\x07", "\xc2\x9b", "\ndone"}) {
    EXPECT_THAT(shown, Not(HasSubstr(raw)));
  }
}

TEST_F(TerminalTest, TextThatIsNotUtf8IsShownAllTheSame) {
  const std::string program = folder / "caf\xe9";
  std::ofstream(program) << "#!/bin/sh\n"
                         << "touch '" << (folder / "here") << "'\nwhile ! [ -e '" << (folder / "go")
                         << "' ]; do sleep 0.01; done\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  Program run(Run({"job"}, {program}), {store});
  ASSERT_TRUE(IsThere());
  EXPECT_EQ(json::parse(Doclock({"status", "--json"}).out)[0].at("owner"), "caf\\xe9");
  sqlite_test::RawDatabase(folder / "locks.db")
      .Run(
          "UPDATE doclock_l_doclock_locks SET lock_owner = CAST('1 1 1:h 3:' || "
          "CAST(x'41ff4220' AS TEXT) AS TEXT)");
  const Ended as_json = Doclock({"status", "--json"});
  EXPECT_EQ(as_json.code, 0) << as_json.err;
  EXPECT_EQ(json::parse(as_json.out)[0].at("owner"),
            "A\xef\xbf\xbd"
            "B");
  EXPECT_THAT(Doclock({"status"}).out, HasSubstr("A\\xffB"));
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(run.Wait().code, 0);
}

}  // namespace
}  // namespace doclock::cli_test
