#include "cli/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

#include "cli/child.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "document/values/utf8.h"

namespace doclock::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Waits for an event, for this long at most; negative: without end.
void Poll(const Signals& signals, const Wakeup& wakeup, milliseconds timeout) {
  pollfd places[] = {{signals.descriptor(), POLLIN, 0}, {wakeup.descriptor(), POLLIN, 0}};
  const auto bounded = std::min(timeout, milliseconds(std::chrono::hours(1)));
  ::poll(places, 2, static_cast<int>(bounded.count()));
  wakeup.Clear();
}

/// The lock, or the exit code if there is none.
struct Taken {
  HeldLock lock;
  int exit_code = kOk;
};

LockOptions HowToLock(const RunOptions& options) {
  LockOptions how{.ttl = options.ttl,
                  .wait = options.wait,
                  .min_hold = options.min_hold,
                  .owner = options.owner,
                  .group = options.group};
  if (options.shared > 0) {
    how.mode = LockMode::kShared;
    how.max_holders = options.shared;
  }
  return how;
}

/// Takes the lock. Waits on another thread, so that signals can end the wait.
Taken Take(const LockProvider& locks, const RunOptions& options, Signals& signals) {
  Taken taken;
  std::exception_ptr error;
  std::atomic<bool> done = false;
  Wakeup wakeup;
  std::stop_source stop;
  int signal = 0;
  {
    const std::jthread waiter([&] {
      try {
        taken.lock = locks.Acquire(options.name, HowToLock(options), stop.get_token());
      } catch (...) {
        error = std::current_exception();
      }
      done = true;
      wakeup.Set();
    });
    while (!done) {
      Poll(signals, wakeup, milliseconds(-1));
      while (const auto number = signals.Next()) {
        if (StopsPrograms(*number)) ::raise(SIGSTOP);
        if (!EndsPrograms(*number)) continue;
        signal = *number;
        stop.request_stop();
      }
    }
  }
  if (signal != 0) {
    taken.lock = HeldLock();
    taken.exit_code = kSignalBase + signal;
    return taken;
  }
  if (!error) return taken;
  try {
    std::rethrow_exception(error);
  } catch (const LockException& busy) {
    if (busy.errc() != Errc::kBusy && busy.errc() != Errc::kTimedOut) throw;
    Tell(busy);
    taken.exit_code = options.busy_exit;
  }
  return taken;
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
      if (const auto status = child_.Reap([this] { GoOn(); })) return *status;
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
        return child_.Signal(number);
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
        Tell("the lock '" + lock_.name() + "' was lost; killing the command");
        child_.Signal(SIGKILL);
      }
      termed_ = true;
      return milliseconds(-1);
    }
    if (left <= kill_after_ && !std::exchange(termed_, true)) {
      Tell("the lock '" + lock_.name() + "' cannot be renewed; ending the command");
      child_.Signal(SIGTERM);
      child_.GoOn();
    }
    const nanoseconds pause = termed_ ? left : left - kill_after_;
    return std::chrono::ceil<milliseconds>(pause);
  }

  HeldLock& lock_;
  Child& child_;
  Signals& signals_;
  const nanoseconds kill_after_;
  Wakeup wakeup_;
  bool termed_ = false;
  bool killed_ = false;
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

int CodeOf(int status) {
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

Duration KillAfter(const RunOptions& options) {
  return options.kill_after.value_or(
      std::min<Duration>(std::chrono::seconds(5), options.ttl.ms() / 4));
}

std::string OwnerOf(const RunOptions& options) {
  if (!options.owner.empty()) return options.owner;
  std::string owner = Printable(std::filesystem::path(options.command.front()).filename().string());
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
    Watch watch(lock, child, signals, *options.kill_after);
    const int status = watch.UntilItEnds();
    const bool lost = watch.ended_it();
    const bool released = Release(lock);
    return lost || !released ? kLost : CodeOf(status);
  } catch (const Child::CannotExecute& failed) {
    Tell("cannot execute " + Quoted(options.command.front()) + ": " + std::strerror(failed.error));
    static_cast<void>(Release(lock));
    return failed.error == ENOENT || failed.error == ENOTDIR ? kNoCommand : kNotExecutable;
  }
}

}  // namespace

int RunCommand(const RunOptions& given, const std::function<std::shared_ptr<Store>()>& open) {
  RunOptions options = given;
  options.kill_after = KillAfter(given);
  options.owner = OwnerOf(given);
  Signals signals;  // before there are threads
  const LockManager manager(open());
  const LockProvider locks(manager, options.collection);
  Taken taken = Take(locks, options, signals);
  if (!taken.lock) return taken.exit_code;
  if (!taken.lock.held()) {
    Tell("the lock '" + options.name + "' was lost before the command was started");
    return kLost;
  }
  return RunHolding(options, signals, taken.lock);
}

}  // namespace doclock::cli
