#include "simulation/machine/process.h"

#include <algorithm>

namespace doclock::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// How long a thread waits for a processor: mostly not at all.
Time Latency(Random& random) {
  if (random.Chance(10)) return random.Between(milliseconds(1), milliseconds(60));
  return random.Between(microseconds(5), microseconds(300));
}

}  // namespace

void Process::Deliver(Task task) {
  if (pauses_ > 0) {
    held_back_.push_back(std::move(task));
  } else {
    task();
  }
}

void Process::After(Time delay, Task task) {
  world_.After(delay, [this, task = std::move(task)]() mutable { Deliver(std::move(task)); });
}

void Process::StartThread(Task task) {
  After(Latency(random_), [this, task = std::move(task)] { world_.fibers().Start(task); });
}

void Process::Post(Task task) {
  last_post_ = std::max(last_post_, world_.now() + Latency(random_));
  world_.At(last_post_, [this, task = std::move(task)]() mutable { Deliver(std::move(task)); });
}

Process::TimerId Process::StartTimer(TimePoint when, Task task) {
  const TimerId id = ++last_timer_;
  timers_.emplace(TimerKey(when, id), std::move(task));
  timer_times_.emplace(id, when);
  Arm();
  return id;
}

void Process::StopTimer(TimerId id) noexcept {
  const auto time = timer_times_.find(id);
  if (time == timer_times_.end()) return;
  const auto timer = timers_.find(TimerKey(time->second, id));
  const Task dropped = std::move(timer->second);  // what it captured may call back
  timers_.erase(timer);
  timer_times_.erase(time);
}

void Process::Arm() {
  if (timers_.empty()) return;
  const auto when = clock_.WhenItShows(timers_.begin()->first.first, world_.now());
  if (!when || *when >= armed_for_) return;
  armed_for_ = *when;
  world_.At(*when, [this, number = ++armed_] {
    if (number != armed_) return;
    armed_for_ = Time::max();
    Deliver([this] { RunTimers(); });
  });
}

void Process::RunTimers() {
  const TimePoint now = Now();
  std::vector<TimerId> due;
  for (const auto& [key, task] : timers_) {
    if (key.first > now) break;
    due.push_back(key.second);
  }
  for (const TimerId id : due) {
    const auto time = timer_times_.find(id);
    if (time == timer_times_.end()) continue;  // the one before it stopped it
    const auto timer = timers_.find(TimerKey(time->second, id));
    const Task task = std::move(timer->second);
    timers_.erase(timer);
    timer_times_.erase(time);
    task();
  }
  Arm();
}

void Process::Sleep(std::chrono::nanoseconds time) {
  Latch over(*this);
  StartTimer(Now() + time, [&over] { over.Open(); });
  over.Wait();
}

void Process::Pause() { ++pauses_; }

void Process::GoOn() {
  if (--pauses_ > 0) return;
  for (Task& task : std::exchange(held_back_, {})) After({}, std::move(task));
}

void Process::SetClockRate(std::int64_t rate) {
  clock_.SetRate(world_.now(), rate);
  armed_for_ = Time::max();
  Arm();
}

void Process::JumpClock(std::chrono::nanoseconds ahead) {
  clock_.Jump(world_.now(), ahead);
  armed_for_ = Time::max();
  Arm();
}

void Latch::Open() {
  if (std::exchange(open_, true) || waiting_ == nullptr) return;
  // The latch may be gone when the thread goes on.
  process_.After(
      {}, [&fibers = process_.world().fibers(), thread = waiting_] { fibers.Resume(*thread); });
}

void Latch::Wait() {
  if (open_) return;
  waiting_ = process_.world().fibers().current();
  process_.world().fibers().Suspend();
}

}  // namespace doclock::simulation
