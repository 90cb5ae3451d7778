#include "testing/scheduler.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace doclock::testing {
namespace {

/// A wait lasts this much longer than all that was scheduled when it began. What comes later only
/// repeats itself: for example, the polls of a waiter and the renewals of the lock that it waits
/// for, which the waiting thread holds itself. (At 150 ms an hour of polls takes half a second.)
constexpr std::chrono::hours kRepetition{1};

/// Real time for which a wait that nothing can end looks whether another thread adds a task: a
/// store that gives hints on a thread of its own may be about to.
constexpr std::chrono::milliseconds kGrace{200};

}  // namespace

ManualClock::Scheduler::OwnerId ManualClock::Scheduler::AddOwner() {
  const std::lock_guard guard(mutex_);
  owners_.insert(next_owner_);
  return next_owner_++;
}

void ManualClock::Scheduler::StopOwner(OwnerId owner) {
  TakeTimersOf(owner, /*keep_work=*/true);
  while (RunOne()) {
  }
  DropOwner(owner);
}

void ManualClock::Scheduler::DropOwner(OwnerId owner) {
  std::vector<Entry> dropped = TakeTimersOf(owner, /*keep_work=*/false);
  {
    const std::lock_guard guard(mutex_);
    owners_.erase(owner);
    // Their captures are destroyed at the end of this function, with no mutex held.
    const auto theirs = std::stable_partition(queue_.begin(), queue_.end(),
                                              [&](const Entry& e) { return e.owner != owner; });
    std::move(theirs, queue_.end(), std::back_inserter(dropped));
    queue_.erase(theirs, queue_.end());
  }
}

std::vector<ManualClock::Scheduler::Entry> ManualClock::Scheduler::TakeTimersOf(OwnerId owner,
                                                                                bool keep_work) {
  std::vector<Entry> dropped;
  const std::lock_guard guard(mutex_);
  for (auto timer = timers_.begin(); timer != timers_.end();) {
    Entry& entry = timer->second;
    if (entry.owner != owner) {
      ++timer;
      continue;
    }
    if (entry.work && keep_work) {
      queue_.push_back(std::move(entry));
    } else {
      dropped.push_back(std::move(entry));
    }
    timer_times_.erase(timer->first.second);
    timer = timers_.erase(timer);
  }
  return dropped;
}

void ManualClock::Scheduler::Enqueue(OwnerId owner, Task task) {
  if (!TryEnqueue(owner, task, /*work=*/false)) Run(std::move(task));
}

void ManualClock::Scheduler::EnqueueWork(OwnerId owner, Task task) {
  if (!TryEnqueue(owner, task, /*work=*/true)) Run(std::move(task));
}

bool ManualClock::Scheduler::TryEnqueue(OwnerId owner, Task& task, bool work) {
  const std::lock_guard guard(mutex_);
  if (!owners_.contains(owner)) return false;
  if (work && work_delay_ != Nanos::zero()) {
    AddEntry(Later(work_delay_), {owner, std::move(task), /*work=*/true});
  } else {
    queue_.push_back({owner, std::move(task)});
  }
  return true;
}

Runtime::TimerId ManualClock::Scheduler::AddTimer(OwnerId owner, TimePoint when, Task task) {
  const std::lock_guard guard(mutex_);
  if (!owners_.contains(owner)) return 0;
  return AddEntry(when, {owner, std::move(task)});
}

Runtime::TimerId ManualClock::Scheduler::AddEntry(TimePoint when, Entry entry) {
  const TimerId id = next_timer_++;
  timer_times_.emplace(id, when);
  try {
    timers_.emplace(TimerKey(when, id), std::move(entry));
  } catch (...) {
    timer_times_.erase(id);
    throw;
  }
  return id;
}

void ManualClock::Scheduler::Cancel(TimerId id) noexcept {
  Entry dropped;  // destroyed last: what it captured may call back
  const std::lock_guard guard(mutex_);
  const auto time = timer_times_.find(id);
  if (time == timer_times_.end()) return;
  const auto timer = timers_.find(TimerKey(time->second, id));
  dropped = std::move(timer->second);
  timers_.erase(timer);
  timer_times_.erase(time);
}

void ManualClock::Scheduler::Advance(Nanos by) {
  const TimePoint end = Later(by);
  RunDueUpTo(end);
  MoveTo(end);
  RunPending();
}

void ManualClock::Scheduler::RunPending() { RunDueUpTo(Now()); }

void ManualClock::Scheduler::RunDueUpTo(TimePoint limit) {
  while (RunOne() || TakeTimer(limit)) {
  }
}

void ManualClock::Scheduler::Jump(Nanos by) { MoveTo(Later(by)); }

void ManualClock::Scheduler::DelayWork(Nanos by) {
  const std::lock_guard guard(mutex_);
  work_delay_ = by;
}

void ManualClock::Scheduler::RunUntil(const std::atomic<bool>& open) {
  const TimePoint hopeless = LatestTimer() + kRepetition;
  while (!open.load(std::memory_order_acquire)) {
    if (Now() > hopeless) {
      throw std::logic_error(
          "doclock::testing::ManualClock: this call waits for something that never comes; an hour "
          "after the last task that was scheduled when it began it is still waiting");
    }
    if (RunOne() || TakeTimer(TimePoint::max()) || AnotherThreadAdds(open)) continue;
    throw std::logic_error(
        "doclock::testing::ManualClock: this call would wait for ever; nothing is queued or "
        "scheduled that could end it");
  }
}

bool ManualClock::Scheduler::AnotherThreadAdds(const std::atomic<bool>& open) {
  const auto end = std::chrono::steady_clock::now() + kGrace;
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard guard(mutex_);
    if (open.load(std::memory_order_acquire) || !queue_.empty() || !timers_.empty()) return true;
  }
  return false;
}

TimePoint ManualClock::Scheduler::LatestTimer() {
  const std::lock_guard guard(mutex_);
  const TimePoint latest = timers_.empty() ? Now() : timers_.rbegin()->first.first;
  return std::clamp(latest, Now(), TimePoint::max() - kRepetition);
}

bool ManualClock::Scheduler::InTask() const noexcept {
  return running_thread_.load() == std::this_thread::get_id();
}

bool ManualClock::Scheduler::RunOne() {
  Entry entry;
  {
    const std::lock_guard guard(mutex_);
    if (queue_.empty()) return false;
    entry = std::move(queue_.front());
    queue_.pop_front();
  }
  Run(std::move(entry.task));
  return true;
}

bool ManualClock::Scheduler::TakeTimer(TimePoint limit) {
  const std::lock_guard guard(mutex_);
  const auto first = timers_.begin();
  if (first == timers_.end() || first->first.first > limit) return false;
  MoveTo(first->first.first);
  queue_.push_back(std::move(first->second));
  timer_times_.erase(first->first.second);
  timers_.erase(first);
  return true;
}

void ManualClock::Scheduler::Run(Task task) {
  // A task that waits runs other tasks inside itself, so the former value comes back afterwards.
  struct Restore {
    std::atomic<std::thread::id>& running;
    std::thread::id former;
    ~Restore() { running.store(former); }
  } restore{running_thread_, running_thread_.exchange(std::this_thread::get_id())};
  task();
}

void ManualClock::Scheduler::MoveTo(TimePoint when) noexcept {
  // An overdue timer, or a task that moved the time itself, must not move it back.
  now_.store(std::max(now_.load(), when.time_since_epoch().count()));
}

TimePoint ManualClock::Scheduler::Later(Nanos by) const noexcept {
  const TimePoint now = Now();
  const Nanos room = TimePoint::max() - now;
  return now + std::clamp(by, Nanos::zero(), room);
}

}  // namespace doclock::testing
