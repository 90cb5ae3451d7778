#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doclock/time.h"
#include "simulation/machine/skewed_clock.h"
#include "simulation/play/random.h"
#include "simulation/world.h"

namespace doclock::simulation {

/// A simulated machine with one program on it: a clock, timers and threads (fibers). While it is
/// paused nothing happens on it, and its clock goes on.
class Process {
 public:
  using Task = World::Task;
  using TimerId = std::uint64_t;

  Process(World& world, int number, std::uint64_t seed)
      : number_(number),
        world_(world),
        random_(seed),
        clock_(TimePoint(std::chrono::hours(1 + number))) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] std::string name() const { return "p" + std::to_string(number_); }
  [[nodiscard]] World& world() noexcept { return world_; }
  [[nodiscard]] const SkewedClock& clock() const noexcept { return clock_; }
  [[nodiscard]] TimePoint Now() const noexcept { return clock_.At(world_.now()); }
  /// Of its operating system: which thread comes next.
  [[nodiscard]] Random& random() noexcept { return random_; }

  /// Does it now, or when the process goes on.
  void Deliver(Task task);
  /// Does it after this true time.
  void After(Time delay, Task task);
  /// Starts a thread soon.
  void StartThread(Task task);
  /// Does it soon, in the order of these calls.
  void Post(Task task);

  /// Does it when the clock shows `when`. The timers of one moment run in the order they were made.
  TimerId StartTimer(TimePoint when, Task task);
  void StopTimer(TimerId id) noexcept;
  /// Stops the running thread for a while, by the clock.
  void Sleep(std::chrono::nanoseconds time);

  void Pause();
  void GoOn();
  void SetClockRate(std::int64_t rate);
  void JumpClock(std::chrono::nanoseconds ahead);

 private:
  using TimerKey = std::pair<TimePoint, TimerId>;
  void Arm();
  void RunTimers();

  const int number_;
  World& world_;
  Random random_;
  SkewedClock clock_;
  int pauses_ = 0;
  std::deque<Task> held_back_;
  Time last_post_{};
  std::map<TimerKey, Task> timers_;
  std::map<TimerId, TimePoint> timer_times_;
  TimerId last_timer_ = 0;
  std::uint64_t armed_ = 0;  ///< Outdates the looks at the clock that were planned before.
  Time armed_for_ = Time::max();
};

/// What a thread of a process waits for, once. Opening it is for any code of the simulation.
class Latch {
 public:
  explicit Latch(Process& process) : process_(process) {}
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  void Open();
  /// On a thread of the process.
  void Wait();
  [[nodiscard]] bool open() const noexcept { return open_; }

 private:
  Process& process_;
  bool open_ = false;
  Fiber* waiting_ = nullptr;
};

}  // namespace doclock::simulation
