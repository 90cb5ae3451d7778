#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/process/child.h"
#include "cli/process/leaving.h"
#include "cli/process/signals.h"
#include "document/values/utf8.h"

namespace doclock::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using SteadyClock = std::chrono::steady_clock;

struct RunOptions {
  std::string collection;
  std::string name;
  std::vector<std::string> command;
  Duration wait;
  Duration ttl = std::chrono::seconds(30);
  Duration min_hold;
  Duration kill_after = kForever;  ///< kForever: 5 s, or a quarter of the ttl if that is less.
  std::string owner;               ///< Empty: the command's name.
  std::string group;
  std::string fence_env;    ///< Variable that tells the command its fence; empty: none.
  std::int64_t shared = 0;  ///< The most holders together; 0: one, exclusively.
  std::int64_t busy_exit = kBusy;
};

/// Waits for an event, for this long at most; negative: without end.
void Poll(const Signals& signals, const Wakeup& wakeup, milliseconds timeout) {
  pollfd places[] = {{signals.descriptor(), POLLIN, 0}, {wakeup.descriptor(), POLLIN, 0}};
  const auto bounded = std::min(timeout, milliseconds(std::chrono::hours(1)));
  ::poll(places, 2, static_cast<int>(bounded.count()));
  wakeup.Clear();
}

/// What the thread that takes the lock shares with the one that handles signals. Opening a store
/// cannot be stopped, so the thread may have to be left behind.
struct Attempt {
  std::optional<LockManager> manager;  ///< Reset if there is no lock.
  HeldLock lock;
  std::exception_ptr error;
  std::stop_source stop;
  std::atomic<bool> done = false;   ///< `lock` or `error` is there.
  std::atomic<bool> ended = false;  ///< The store is closed too.
  Wakeup wakeup;
};

/// The time that the store has for its first answer, even if --wait is less.
constexpr milliseconds kFirstAnswer{1000};
/// How long the store may take to answer after the time to wait, and then to close.
constexpr milliseconds kGrace{1000};

LockOptions HowToLock(const RunOptions& options) {
  LockOptions how{.ttl = options.ttl,
                  .wait = options.wait,
                  .min_hold = options.min_hold,
                  .owner = options.owner,
                  .group = options.group};
  if (options.shared > 0) {
    how.mode = LockMode::kShared;
    how.max_holders = static_cast<int>(options.shared);
  }
  return how;
}

bool IsBounded(const RunOptions& options) {
  return options.wait != Duration() && options.wait != kForever;
}

/// How long opening may wait for a server: less than the caller waits, so that the cause of an
/// outage is known when its time is up.
std::optional<milliseconds> Patience(const RunOptions& options) {
  if (!IsBounded(options)) return std::nullopt;
  return std::max<milliseconds>(options.wait.ms(), kFirstAnswer) / 5 * 4;  // no overflow
}

void Work(Attempt& attempt, const RunOptions& options, const OpenWithin& open) {
  const auto started = SteadyClock::now();
  try {
    attempt.manager.emplace(open(Patience(options)));
    LockOptions how = HowToLock(options);
    if (IsBounded(options)) {
      const auto spent = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - started);
      how.wait = std::max(options.wait.ms() - spent, milliseconds(1));
    }
    const LockProvider locks(*attempt.manager, options.collection);
    HeldLock lock = locks.Acquire(options.name, how, attempt.stop.get_token());
    // After a wait in the store's queue the lease is short until its first renewal. A command needs
    // a whole one.
    if (lock.Remaining() < options.ttl.ms() / 2) lock.Renew();
    attempt.lock = std::move(lock);
  } catch (...) {
    attempt.error = std::current_exception();
  }
  const bool failed = attempt.error != nullptr;
  attempt.done = true;
  attempt.wakeup.Set();
  if (failed) attempt.manager.reset();
  attempt.ended = true;
  attempt.wakeup.Set();
}

/// Polls until `flag` is set, or this moment. Signals that end programs set `signal`.
void Await(const std::atomic<bool>& flag, SteadyClock::time_point until, Attempt& attempt,
           Signals& signals, int& signal) {
  while (!flag) {
    const auto left = std::chrono::ceil<milliseconds>(until - SteadyClock::now());
    if (left <= milliseconds(0)) return;
    Poll(signals, attempt.wakeup, left);
    while (const auto number = signals.Next()) {
      if (StopsPrograms(*number)) ::raise(SIGSTOP);
      if (!EndsPrograms(*number)) continue;
      signal = *number;
      attempt.stop.request_stop();
      until = std::min(until, SteadyClock::now() + kGrace);
    }
  }
}

/// The time by which there is an answer; far away if the wait has no bound.
SteadyClock::time_point AnswerDue(const RunOptions& options) {
  if (!IsBounded(options)) return SteadyClock::now() + std::chrono::hours(24 * 365);
  const auto longest = std::min<milliseconds>(options.wait.ms(), std::chrono::hours(24 * 365));
  return SteadyClock::now() + std::max(longest, kFirstAnswer) + kGrace;
}

/// The exit code of a wait that ended without the lock.
int WhyNot(const Attempt& attempt, const RunOptions& options) {
  try {
    std::rethrow_exception(attempt.error);
  } catch (const LockException& busy) {
    if (busy.errc() != Errc::kBusy && busy.errc() != Errc::kTimedOut) throw;
    Tell(busy);
    return static_cast<int>(options.busy_exit);
  }
}

/// Takes the lock on another thread, so that signals and --wait can end the wait. Returns the exit
/// code if there is no lock.
std::optional<int> Take(const std::shared_ptr<Attempt>& attempt, const RunOptions& options,
                        const OpenWithin& open, Signals& signals) {
  std::thread([attempt, options, open] { Work(*attempt, options, open); }).detach();
  int signal = 0;
  Await(attempt->done, AnswerDue(options), *attempt, signals, signal);
  const bool done = attempt->done;
  if (done && !attempt->error && signal == 0) return std::nullopt;
  if (done && !attempt->error) {  // granted in spite of the signal
    attempt->lock = HeldLock();
    attempt->manager.reset();
    return kSignalBase + signal;
  }
  int ignored = 0;
  if (done) Await(attempt->ended, SteadyClock::now() + kGrace, *attempt, signals, ignored);
  if (!attempt->ended) LeaveThreadsBehind();
  if (signal != 0) return kSignalBase + signal;
  if (done) return WhyNot(*attempt, options);
  Tell("the store did not answer within the time that --wait allows");
  return kUnavailable;
}

/// Supervises the command while it runs.
class Watch {
 public:
  Watch(HeldLock& lock, Child& child, Signals& signals, Duration kill_after)
      : lock_(lock), child_(child), signals_(signals), kill_after_(kill_after.ms()) {}

  /// Returns its wait status.
  int UntilItEnds() {
    const std::stop_callback on_lost(lock_.lost(), [this] { wakeup_.Set(); });
    for (;;) {
      Poll(signals_, wakeup_, Look());
      while (const auto number = signals_.Next()) Pass(*number);
      const auto status = child_.Reap([this] { GoOn(); });
      if (!status) continue;
      for (const std::string& text : untold_) Tell(text);
      return *status;
    }
  }

  /// Was the command ended because the lock was lost, or about to be?
  [[nodiscard]] bool ended_it() const noexcept { return termed_; }

 private:
  void Pass(int number) {
    switch (number) {
      case SIGCHLD:
        return;
      case SIGTSTP:  // the terminal's Ctrl-Z, for all of a pipeline
        return child_.StopWithIt();
      case SIGTTIN:
      case SIGTTOU:
        return child_.ShareTerminal();
      case SIGCONT:
        return GoOn();
      default:
        child_.Signal(number);
        // What is stopped ends only once it goes on.
        if (AsksToEnd(number)) GoOn();
    }
  }
  /// Lets the command go on; kills it instead if its lock has lapsed meanwhile.
  void GoOn() {
    Look();
    child_.GoOn();
  }
  /// Ends the command in time. Returns the time until it has to be called again.
  milliseconds Look() {
    const nanoseconds left = lock_.Remaining();
    if (left <= nanoseconds(0)) {
      if (!std::exchange(killed_, true)) {
        child_.Signal(SIGKILL);
        TellSoon("the lock '" + lock_.name() + "' was lost; killing the command");
      }
      termed_ = true;
      return milliseconds(-1);
    }
    if (left <= kill_after_ && !std::exchange(termed_, true)) {
      child_.Signal(SIGTERM);
      child_.GoOn();
      TellSoon("the lock '" + lock_.name() + "' cannot be renewed; ending the command");
    }
    const nanoseconds pause = termed_ ? left : left - kill_after_;
    return std::chrono::ceil<milliseconds>(pause);
  }

  /// At once, unless whoever reads standard error keeps it waiting: then once the command has
  /// ended, which has to happen in time.
  void TellSoon(std::string text) {
    pollfd place{STDERR_FILENO, POLLOUT, 0};
    ::poll(&place, 1, 0);
    (place.revents & POLLOUT) != 0 ? Tell(text) : untold_.push_back(std::move(text));
  }

  HeldLock& lock_;
  Child& child_;
  Signals& signals_;
  const nanoseconds kill_after_;
  Wakeup wakeup_;
  bool termed_ = false;
  bool killed_ = false;
  std::vector<std::string> untold_;
};

/// Releases the lock. False: it was lost before the command ended, as far as the store knows.
bool Release(HeldLock& lock) {
  try {
    lock.Release();
    return true;
  } catch (const LockException& error) {
    Tell(error.what());
    return false;
  } catch (const Error& error) {
    Tell(std::string("the lock was not released and ends with its lease: ") + error.what());
    return true;
  }
}

/// How the command ended, for a message: another exit code hides it.
std::string EndOf(int status) {
  return WIFSIGNALED(status)
             ? "signal " + std::to_string(WTERMSIG(status)) + " ended the command"
             : "the command ended with exit code " + std::to_string(WEXITSTATUS(status));
}

int CodeOf(int status) {
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string OwnerOf(const std::string& command) {
  std::string owner = Printable(std::filesystem::path(command).filename().string());
  if (owner.size() > kMaxOwnerBytes) owner.resize(kMaxOwnerBytes);
  while (!detail::IsUtf8(owner)) owner.pop_back();  // half a character
  return owner;
}

/// Runs the command while the lock is held, and releases it.
int RunHolding(const RunOptions& options, Signals& signals, HeldLock& lock) {
  std::vector<std::string> variables;
  if (!options.fence_env.empty()) {
    variables.push_back(options.fence_env + "=" + std::to_string(lock.fence()));
  }
  try {
    Child child(options.command, variables, signals.former_mask());
    Watch watch(lock, child, signals, options.kill_after);
    const int status = watch.UntilItEnds();
    const bool lost = watch.ended_it();
    const bool released = Release(lock);
    if (!lost && released) return CodeOf(status);
    Tell(EndOf(status));
    return kLost;
  } catch (const Child::CannotExecute& failed) {
    Tell("cannot execute " + Quoted(options.command.front()) + ": " + std::strerror(failed.error));
    static_cast<void>(Release(lock));
    return failed.error == ENOENT || failed.error == ENOTDIR ? kNoCommand : kNotExecutable;
  }
}

/// Checks what depends on more than one option, and replaces what was left open.
void Complete(RunOptions& options) {
  if (options.command.empty()) throw std::invalid_argument("run: there is no command after --");
  if (options.fence_env.find('=') != std::string::npos) {
    throw std::invalid_argument("run: --fence-env must be the name of a variable, without =");
  }
  if (options.kill_after == kForever) {
    options.kill_after = std::min<Duration>(std::chrono::seconds(5), options.ttl.ms() / 4);
  }
  if (options.kill_after.count() > options.ttl.count() / 2) {
    throw std::invalid_argument("run: --kill-after must be at most half of --ttl");
  }
  if (options.owner.empty()) options.owner = OwnerOf(options.command.front());
}

int Run(const Context& context, RunOptions options) {
  options.collection = context.collection;
  options.command = context.behind;
  Complete(options);
  Signals signals;  // before there are threads
  const auto attempt = std::make_shared<Attempt>();
  if (const auto code = Take(attempt, options, context.open, signals)) return *code;
  if (!attempt->lock.held()) {
    Tell("the lock '" + options.name + "' was lost before the command was started");
    return kLost;
  }
  const int code = RunHolding(options, signals, attempt->lock);
  attempt->manager.reset();
  return code;
}

}  // namespace

Action AddRun(CLI::App& sub) {
  const auto options = std::make_shared<RunOptions>();
  AddText(sub, "NAME", options->name, "Name of the lock", kMaxKeyBytes)->required()->type_name("");
  AddDuration(sub, "--wait", options->wait,
              "How long to wait while another client holds the lock (default: do not wait)");
  AddTtl(sub, options->ttl, "Length of the lease, which is renewed (default: 30s)");
  CLI::Option* const min_hold = AddDuration(
      sub, "--min-hold", options->min_hold,
      "No other client gets the lock for this long after the grant, even if the command "
      "ends sooner",
      {Duration(), kMaxTtl});
  AddNumber(sub, "--shared", options->shared,
            "Share the lock among up to N holders at a time (default: hold it exclusively)", 1,
            kMaxHolders)
      ->excludes(min_hold);
  AddDuration(sub, "--kill-after", options->kill_after,
              "Time between TERM and KILL if the lock cannot be renewed, at most half of --ttl "
              "(default: 5s, or ttl/4 if that is less; 0: KILL alone)");
  AddText(sub, "--owner", options->owner,
          "Name of the holder, for display only (default: the command's name)", kMaxOwnerBytes);
  AddText(sub, "--group", options->group, "Group that the lock belongs to", kMaxOwnerBytes);
  AddAnything(sub, "--fence-env", options->fence_env,
              "Environment variable that tells the command its fence", "VARIABLE");
  AddNumber(sub, "--busy-exit", options->busy_exit, "Exit code if the lock is busy", 0, 255)
      ->type_name("CODE")
      ->capture_default_str();
  sub.footer(
      "Exits with the command's exit code, or with\n"
      "  64         bad options\n"
      "  69         the store is down or refuses the call; never because the lock is busy\n"
      "  75         the lock is busy (--busy-exit changes this code)\n"
      "  76         the lock was lost\n"
      "  126, 127   the command cannot be executed; it does not exist\n"
      "  128+N      signal N ended the command, or the wait for the lock\n\n"
      "Example: doclock run --wait 5m nightly-backup -- rsync -a /data/ backup:/data/\n"
      "Example: doclock run --shared 4 --wait 1h render -- ./render frame-17");
  return [options](const Context& context) { return Run(context, *options); };
}

}  // namespace doclock::cli
