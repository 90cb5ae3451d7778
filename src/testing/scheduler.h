#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "doclock/testing/manual_clock.h"

namespace doclock::testing {

/// What all runtimes of one ManualClock share: the time, one queue of tasks and the timers. Tasks
/// run on the thread that moves the time or waits. Adding tasks is safe from other threads too,
/// because a store may give hints on a thread of its own.
class ManualClock::Scheduler {
 public:
  using Nanos = std::chrono::nanoseconds;
  using Task = Runtime::Task;
  using TimerId = Runtime::TimerId;
  /// The owner of a task, so that one runtime can be stopped without the others.
  using OwnerId = std::uint64_t;

  [[nodiscard]] TimePoint Now() const noexcept { return TimePoint(Nanos(now_.load())); }

  OwnerId AddOwner();
  /// Runs what is queued (delayed work included), then forgets the owner with its timers.
  void StopOwner(OwnerId owner);
  /// Forgets the owner and all of its tasks without running them.
  void DropOwner(OwnerId owner);

  /// Tasks of a stopped owner run at once: none is ever lost.
  void Enqueue(OwnerId owner, Task task);
  void EnqueueWork(OwnerId owner, Task task);
  TimerId AddTimer(OwnerId owner, TimePoint when, Task task);
  void Cancel(TimerId id) noexcept;

  void Advance(Nanos by);
  void RunPending();
  void Jump(Nanos by);
  void DelayWork(Nanos by);
  /// Runs tasks and moves time until the latch is open.
  void RunUntil(const std::atomic<bool>& open);
  /// Is the calling thread inside a task?
  [[nodiscard]] bool InTask() const noexcept;

 private:
  struct Entry {
    OwnerId owner = 0;
    Task task;
    bool work = false;  // delayed by DelayWork: a stop runs it, as it runs all that is queued
  };
  /// Timers of one moment run in the order they were made.
  using TimerKey = std::pair<TimePoint, TimerId>;

  /// Returns true if the task was taken; false, and the task is left, when the owner was stopped.
  bool TryEnqueue(OwnerId owner, Task& task, bool work);
  TimerId AddEntry(TimePoint when, Entry entry);
  /// Runs the front of the queue; false when it is empty.
  bool RunOne();
  /// Moves time to the earliest timer not later than `limit` and queues its task; false if none.
  bool TakeTimer(TimePoint limit);
  void RunDueUpTo(TimePoint limit);
  /// Waits a moment of real time for a task or timer of another thread; false if none comes.
  bool AnotherThreadAdds(const std::atomic<bool>& open);
  /// The moment of the last timer, or now.
  [[nodiscard]] TimePoint LatestTimer();
  void Run(Task task);
  void MoveTo(TimePoint when) noexcept;
  [[nodiscard]] TimePoint Later(Nanos by) const noexcept;
  /// Takes the owner's timers out; those that are delayed work are queued.
  std::vector<Entry> TakeTimersOf(OwnerId owner, bool keep_work);

  std::atomic<Nanos::rep> now_{Nanos(std::chrono::hours(1)).count()};
  std::mutex mutex_;
  std::deque<Entry> queue_;
  std::map<TimerKey, Entry> timers_;
  std::unordered_map<TimerId, TimePoint> timer_times_;
  std::unordered_set<OwnerId> owners_;
  OwnerId next_owner_ = 1;
  TimerId next_timer_ = 1;
  Nanos work_delay_{};
  std::atomic<std::thread::id> running_thread_{};
};

}  // namespace doclock::testing
