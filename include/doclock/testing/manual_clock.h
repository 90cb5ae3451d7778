#pragma once

/// @file
/// ManualClock: time that a test moves by hand.

#include <chrono>
#include <memory>

#include "doclock/export.h"
#include "doclock/lock_manager.h"
#include "doclock/time.h"

namespace doclock::testing {

/// A clock that a unit test moves by hand, and a Runtime that runs the whole library on the test's
/// own thread. Hours of leases take milliseconds, without sleeps and without races.
///
/// ```cpp
/// auto clock = std::make_shared<doclock::testing::ManualClock>();
/// auto store = doclock::OpenMemoryStore({.clock = clock});
/// doclock::LockManager manager{store, {.runtime = clock->runtime()}};
/// ```
///
/// Use it from one thread. A blocking call of the library runs what is due and moves the time until
/// it can return. If nothing is left that could end the call, it throws std::logic_error instead of
/// hanging.
class DOCLOCK_EXPORT ManualClock : public Clock {
 public:
  ManualClock();
  ~ManualClock() override;

  /// Returns the present moment.
  [[nodiscard]] TimePoint Now() const noexcept override;

  /// Returns the machine's time when the clock was made, moved as the clock was.
  [[nodiscard]] std::chrono::system_clock::time_point WallTime() const noexcept override;

  /// Moves time forward. Runs what is queued, and what falls due on the way, each at its own
  /// moment.
  void Advance(Duration by);

  /// Runs what is queued or due, without moving the time.
  void RunPending();

  /// Moves time forward and runs nothing, as if the process was paused. What fell due meanwhile
  /// runs late: at the next Advance, RunPending or blocking call.
  void Jump(Duration by);

  /// Delays the beginning of every call of the store that the library makes in the background from
  /// now on, like a slow or hanging store. Zero: no delay.
  void DelayWork(Duration by);

  /// Makes a runtime that uses this clock. Give each manager its own: stopping one leaves the
  /// others running, as if they were different processes. All of them share this clock.
  [[nodiscard]] std::shared_ptr<Runtime> runtime() const;

 private:
  class Scheduler;
  class VirtualRuntime;
  std::shared_ptr<Scheduler> scheduler_;
  std::chrono::system_clock::time_point wall_start_;  ///< When Now() would have been zero.
};

}  // namespace doclock::testing
