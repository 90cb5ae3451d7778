#pragma once

#include <chrono>
#include <memory>

#include "doclock/export.h"

namespace doclock {

/// The clock that measures leases: time since boot, *including* suspend (CLOCK_BOOTTIME on Linux),
/// so that a laptop or a virtual machine that slept past a lease knows it when it wakes. It is
/// never compared with another machine's clock.
struct DOCLOCK_EXPORT BootClock {
  /// Nanoseconds.
  using duration = std::chrono::nanoseconds;
  /// Representation of `duration`.
  using rep = duration::rep;
  /// Tick of `duration`.
  using period = duration::period;
  /// A moment since boot.
  using time_point = std::chrono::time_point<BootClock>;
  /// Never goes back.
  static constexpr bool is_steady = true;
  /// Returns the present moment. Thread-safe.
  static time_point now() noexcept;
};

/// A moment of the lease clock.
using TimePoint = BootClock::time_point;

/// Tells an embedded store the time. Inject another clock in tests
/// (`doclock::testing::ManualClock`); production code does not need to.
class DOCLOCK_EXPORT Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock();

  /// Returns the present moment. Must be thread-safe and must never go back.
  [[nodiscard]] virtual TimePoint Now() const noexcept = 0;
  /// Returns the time of day, by which the store tells what is due (Filter::Due). The default is
  /// the system's clock. Must be thread-safe.
  [[nodiscard]] virtual std::chrono::system_clock::time_point WallTime() const noexcept;
};

/// Returns the real clock, which stores use unless another one is injected.
DOCLOCK_EXPORT std::shared_ptr<const Clock> SystemClock();

}  // namespace doclock
