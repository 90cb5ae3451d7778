#include "cli/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace doclock::cli {
namespace {

/// What the child needs after the fork, made before it: it may not allocate.
struct Plan {
  std::vector<char*> arguments;
  std::vector<std::string> variables;
  std::vector<char*> environment;
  std::vector<int> signs_of_life;
  int report = -1;
  pid_t parent = -1;
  const Terminal* terminal = nullptr;  ///< To give to it; null: it gets none yet.
  sigset_t signal_mask{};
};

/// The open coordinator files of SQLite: while a process has one open, the locks' holder counts as
/// alive.
std::vector<int> SignsOfLife() {
  std::vector<int> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.ends_with("-doclock")) found.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return found;
}

/// Is there another value for this variable? If there are two, programs take the first.
bool IsReplaced(std::string_view variable, const std::vector<std::string>& by) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(by.begin(), by.end(), [&](std::string_view other) {
    return other.substr(0, other.find('=')) == name;
  });
}

/// May the command have the terminal before it asks? In a pipeline (`doclock run ... | less`) the
/// terminal belongs to all its programs.
bool MayHaveTerminal(const Terminal& terminal) {
  struct stat output {};
  const bool piped = ::fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode);
  return !piped && ::isatty(STDIN_FILENO) == 1 && terminal.IsOf(::getpgrp());
}

/// Was it stopped because it is not the terminal's foreground?
bool WantsTerminal(int status) {
  return WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU;
}

Plan PlanOf(const std::vector<std::string>& command, const std::vector<std::string>& more) {
  Plan plan;
  for (const std::string& argument : command) {
    plan.arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  plan.arguments.push_back(nullptr);
  plan.variables = more;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!IsReplaced(*variable, plan.variables)) plan.environment.push_back(*variable);
  }
  for (std::string& variable : plan.variables) plan.environment.push_back(variable.data());
  plan.environment.push_back(nullptr);
  plan.signs_of_life = SignsOfLife();
  plan.parent = ::getpid();
  return plan;
}

/// Runs in the child. Does only what is safe after the fork of a program with threads.
[[noreturn]] void Execute(Plan& plan) {
  ::setpgid(0, 0);
  if (plan.terminal != nullptr) plan.terminal->Give(::getpgrp());
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(1);  // the parent ended before prctl
  for (const int sign : plan.signs_of_life) ::fcntl(sign, F_SETFD, 0);
  ::sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  // Searches the PATH as the shell does, and gives a script without #! to /bin/sh. Unlike that of
  // other systems, that of the GNU library does not allocate.
  ::execvpe(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  const int error = errno;
  static_cast<void>(::write(plan.report, &error, sizeof error) == 0);
  ::_exit(127);
}

}  // namespace

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             const sigset_t& signal_mask) {
  Plan plan = PlanOf(command, environment);
  plan.signal_mask = signal_mask;
  if (MayHaveTerminal(terminal_)) plan.terminal = &terminal_;
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) throw CannotExecute{errno};
  plan.report = report[1];
  // Not fork(): its handlers would close the signs of life.
  pid_ = ::_Fork();
  if (pid_ == 0) Execute(plan);
  const int fork_error = errno;
  ::close(report[1]);
  if (pid_ < 0) {
    ::close(report[0]);
    throw CannotExecute{fork_error};
  }
  ::setpgid(pid_, pid_);  // parent and child both do, whichever comes first
  foreground_ = plan.terminal != nullptr;
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(report[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  ::close(report[0]);
  if (got == 0) return;
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  if (foreground_) terminal_.Give(::getpgrp());
  throw CannotExecute{error};
}

Child::~Child() { TakeTerminalBack(); }

void Child::Signal(int number) const noexcept { ::kill(-pid_, number); }

void Child::StopWithIt() noexcept {
  stop_asked_ = true;
  Signal(SIGTSTP);
}

void Child::GoOn() noexcept {
  stop_asked_ = false;
  Signal(SIGCONT);
}

std::optional<int> Child::Reap(const std::function<void()>& resumed) {
  std::optional<int> ended;
  for (;;) {
    int status = 0;
    const pid_t who = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (who <= 0) return ended;
    if (who != pid_) continue;
    if (!WIFSTOPPED(status)) {
      ended = status;
    } else if (!stop_asked_ && WantsTerminal(status) && Lend()) {
      Signal(SIGCONT);
    } else if (foreground_ || stop_asked_ || WantsTerminal(status)) {
      Stopped();
      resumed();
    }  // else the program that stopped it will continue it
  }
}

bool Child::Lend() noexcept {
  if (terminal_.IsOf(::getpgrp())) terminal_.Give(pid_);
  foreground_ = foreground_ || terminal_.IsOf(pid_);
  return terminal_.IsOf(pid_);
}

bool Child::TakeTerminalBack() noexcept {
  if (!terminal_.IsOf(pid_)) return false;  // it may be the shell's by now
  terminal_.Give(::getpgrp());
  return true;
}

void Child::ShareTerminal() noexcept {
  if (TakeTerminalBack()) {
    ::kill(0, SIGCONT);
  } else {
    StopWithIt();
  }
}

void Child::Stopped() {
  // Others of its group may have ignored SIGTSTP. None may run on without renewal of the lock.
  Signal(SIGSTOP);
  TakeTerminalBack();
  // The terminal told the command's group only. Here it is blocked, and forgotten with SIGCONT.
  if (!stop_asked_) ::kill(0, SIGTSTP);
  ::raise(SIGSTOP);
  if (foreground_) Lend();
}

}  // namespace doclock::cli
