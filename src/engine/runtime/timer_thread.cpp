#include "engine/runtime/timer_thread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "platform/fork_generation.h"

namespace doclock::detail {

namespace {

/// The state whose tasks the current thread runs.
thread_local const void* state_of_this_thread = nullptr;

/// The clock of condition variables stands still in suspend, the BootClock does not. So long after
/// it a task may be late. With libstdc++ over a glibc before 2.30 the waits follow the wall clock:
/// a step back of that clock delays the tasks by as much.
constexpr std::chrono::seconds kLongestSleep{1};

}  // namespace

struct TimerThread::State {
  using Task = std::function<void()>;
  using Timers = std::multimap<TimePoint, std::pair<std::uint64_t, Task>>;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> posted;
  Timers timers;
  std::unordered_map<std::uint64_t, Timers::iterator> by_id;
  std::uint64_t last_id = 0;
  std::optional<TimePoint> sleeping_until;  ///< Set while asleep; TimePoint::max(): without end.
  bool stopped = false;

  /// The next task that may run now. Needs the lock.
  Task TakeReady() {
    Task task;
    if (!posted.empty()) {
      task = std::move(posted.front());
      posted.pop_front();
    } else if (!stopped && !timers.empty() && timers.begin()->first <= BootClock::now()) {
      const auto first = timers.begin();
      task = std::move(first->second.second);
      by_id.erase(first->second.first);
      timers.erase(first);
    }
    return task;
  }

  void Run() {
    state_of_this_thread = this;
    std::unique_lock lock(mutex);
    for (;;) {
      if (Task task = TakeReady()) {
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
        continue;
      }
      if (stopped) return;
      const auto next = timers.empty() ? TimePoint::max() : timers.begin()->first;
      sleeping_until = next;
      if (timers.empty()) {
        changed.wait(lock);
      } else {
        changed.wait_for(
            lock, std::min<std::chrono::nanoseconds>(next - BootClock::now(), kLongestSleep));
      }
      sleeping_until.reset();
    }
  }

  /// Wakes the thread if it would sleep past `when`. Needs the lock.
  void WakeFor(TimePoint when) {
    if (!sleeping_until || *sleeping_until <= when) return;
    sleeping_until = when;  // once is enough
    changed.notify_one();
  }
};

TimerThread::TimerThread()
    : state_(std::make_shared<State>()),
      thread_(std::make_unique<std::thread>([state = state_] { state->Run(); })),
      fork_generation_(platform::ForkGeneration()) {}

TimerThread::~TimerThread() { Stop(); }

std::uint64_t TimerThread::Schedule(TimePoint when, std::function<void()> task) {
  if (fork_generation_ != platform::ForkGeneration()) return 0;
  const std::scoped_lock lock(state_->mutex);
  if (state_->stopped) return 0;
  const std::uint64_t id = ++state_->last_id;
  state_->by_id.emplace(id, state_->timers.emplace(when, std::pair(id, std::move(task))));
  state_->WakeFor(when);
  return id;
}

void TimerThread::Cancel(std::uint64_t id) noexcept {
  if (fork_generation_ != platform::ForkGeneration()) return;
  std::function<void()> task;  // destroyed without the lock
  const std::scoped_lock lock(state_->mutex);
  const auto found = state_->by_id.find(id);
  if (found == state_->by_id.end()) return;
  task = std::move(found->second->second.second);
  state_->timers.erase(found->second);
  state_->by_id.erase(found);
}

void TimerThread::Post(std::function<void()> task) {
  if (fork_generation_ != platform::ForkGeneration()) return task();
  std::unique_lock lock(state_->mutex);
  if (state_->stopped) {
    lock.unlock();
    return task();
  }
  state_->posted.push_back(std::move(task));
  state_->WakeFor(TimePoint::min());
}

bool TimerThread::OnOwnThread() const noexcept { return state_of_this_thread == state_.get(); }

void TimerThread::Stop() {
  if (fork_generation_ != platform::ForkGeneration()) {
    static_cast<void>(thread_.release());
    return;
  }
  State::Timers dropped;  // destroyed without the lock
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopped = true;
    dropped.swap(state_->timers);
    state_->by_id.clear();
    state_->WakeFor(TimePoint::min());
  }
  if (!thread_ || !thread_->joinable()) return;
  if (OnOwnThread()) {
    thread_->detach();
  } else {
    thread_->join();
  }
}

}  // namespace doclock::detail
