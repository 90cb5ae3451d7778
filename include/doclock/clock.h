#pragma once

#include <chrono>
#include <memory>

#include "doclock/export.h"

namespace doclock {

/// The clock leases are measured with: time since boot, *including* suspend (CLOCK_BOOTTIME on
/// Linux), so that a laptop or a virtual machine that slept past a lease knows it on waking. It is
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
  /// The present moment. Thread-safe.
  static time_point now() noexcept;
};

/// A moment of the lease clock.
using TimePoint = BootClock::time_point;

/// Where an embedded store reads the time from. Inject another one in tests
/// (`doclock::testing::ManualClock`); production code never needs to.
class DOCLOCK_EXPORT Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock();

  /// The present moment. Must be thread-safe and must never go back.
  [[nodiscard]] virtual TimePoint Now() const noexcept = 0;
};

/// The real clock, shared by all who do not inject one.
DOCLOCK_EXPORT std::shared_ptr<const Clock> SystemClock();

}  // namespace doclock
