#pragma once

#include <memory>
#include <optional>

#include "doclock/clock.h"

namespace doclock::platform {

/// Lets one thread sleep until a moment of the BootClock (suspend counts), or until it is woken.
class BootTimer {
 public:
  BootTimer();
  BootTimer(const BootTimer&) = delete;
  BootTimer& operator=(const BootTimer&) = delete;
  ~BootTimer();

  /// Sleeps until `when` (none: forever) or until Wake; may return early. One thread at a time.
  void SleepUntil(std::optional<TimePoint> when);
  /// Ends the current sleep, or the next one. Thread-safe.
  void Wake() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doclock::platform
