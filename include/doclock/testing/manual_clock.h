#pragma once

#include <functional>
#include <memory>

#include "doclock/clock.h"
#include "doclock/duration.h"
#include "doclock/export.h"
#include "doclock/runtime.h"

namespace doclock::testing {

/// A clock that a unit test moves by hand, and a Runtime that runs all of the library on the
/// test's own thread: hours of leases in milliseconds, no sleep, no race.
///
/// ```cpp
/// auto clock = std::make_shared<doclock::testing::ManualClock>();
/// auto store = doclock::OpenMemoryStore({.clock = clock});
/// doclock::LockManager manager{store, {.runtime = clock->runtime()}};
/// ```
///
/// Use it from one thread. A blocking call of the library runs whatever is due and moves the time
/// until it can return; where nothing is left that could end it, it throws std::logic_error
/// instead of hanging.
class DOCLOCK_EXPORT ManualClock : public Clock {
 public:
  ManualClock();
  ~ManualClock() override;

  /// The present moment.
  [[nodiscard]] TimePoint Now() const noexcept override;

  /// Moves time forward, running what falls due on the way, each at its own moment, and what is
  /// queued.
  void Advance(Duration by);

  /// Runs what is queued or due, without moving the time.
  void RunPending();

  /// Moves time forward and runs nothing: the process was paused. What fell due meanwhile runs at
  /// the next Advance, RunPending or blocking call, late.
  void Jump(Duration by);

  /// From now on calls of the store that the library makes in the background begin so much later
  /// (a slow or hanging store). Zero: at once.
  void DelayWork(Duration by);

  /// A runtime that goes with this clock. Give each manager its own: stopping one leaves the others
  /// running, as if they were different processes, and all of them share this clock.
  [[nodiscard]] std::shared_ptr<Runtime> runtime() const;

 private:
  class Scheduler;
  class VirtualRuntime;
  std::shared_ptr<Scheduler> scheduler_;
};

}  // namespace doclock::testing
