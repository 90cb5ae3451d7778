#pragma once

/// @file
/// Lengths of time, dates, and the clock that measures leases.

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <ratio>
#include <stdexcept>
#include <type_traits>

#include "doclock/detail/floor_to.h"
#include "doclock/export.h"

namespace doclock {

/// A length of time in whole milliseconds. Any std::chrono duration converts to it.
///
/// The conversion rounds up and saturates instead of overflowing: `std::chrono::hours::max()` and
/// infinities become Duration::Max(). (A plain `std::chrono::milliseconds` member would overflow
/// in the caller's conversion, before this library could check anything.) A NaN becomes a negative
/// value, which every option refuses.
class Duration {
 public:
  /// Zero.
  constexpr Duration() noexcept = default;

  /// Converts, saturating. Parts of a millisecond are rounded away from zero: a short length is not
  /// none, and a negative one stays negative. A floating-point length within its type's precision
  /// of a whole millisecond is that millisecond: `0.1s` is 100 ms. Implicit on purpose: `.wait =
  /// 5s` is what users write.
  template <class Rep, class Period>
  constexpr Duration(
      std::chrono::duration<Rep, Period> d) noexcept  // NOLINT(google-explicit-constructor)
      : count_(Saturate(d)) {}
  /// Does not compile: a plain number has no unit. Overload resolution still finds this
  /// constructor, on purpose, so that the compiler's error is a sentence, not a list of candidates;
  /// the traits (`std::is_convertible_v<int, Duration>`) say that a number converts.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  constexpr Duration(Number) noexcept {  // NOLINT(google-explicit-constructor)
    static_assert(!std::is_arithmetic_v<Number>,
                  "doclock: a plain number is no length of time. Give it a unit, as in "
                  "std::chrono::seconds(5) or 5s.");
  }

  /// Returns the longest length; as a wait it means "forever".
  static constexpr Duration Max() noexcept {
    Duration d;
    d.count_ = std::numeric_limits<std::int64_t>::max();
    return d;
  }

  /// Whole milliseconds.
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return count_; }

  /// Returns the same length as a std::chrono duration. Safe for every value.
  [[nodiscard]] constexpr std::chrono::milliseconds ms() const noexcept {
    return std::chrono::milliseconds{count_};
  }

  /// Orders by length.
  friend constexpr auto operator<=>(const Duration&, const Duration&) noexcept = default;

 private:
  template <class Rep, class Period>
  static constexpr std::int64_t Saturate(std::chrono::duration<Rep, Period> d) noexcept {
    if (!(d == d)) return -1;
    const auto floored = detail::FloorIn<std::milli>(d);
    if (floored) {
      const auto rounded = floored->whole + (floored->rest && d > d.zero() ? 1 : 0);
      const auto narrow = static_cast<std::int64_t>(rounded);
      if (narrow == rounded) return narrow;
    }
    using Limits = std::numeric_limits<std::int64_t>;
    return d > d.zero() ? Limits::max() : Limits::min();
  }

  std::int64_t count_ = 0;
};

/// As `LockOptions::wait`: wait until the lock is granted or the wait is stopped.
inline constexpr Duration kForever = Duration::Max();

/// A moment, in milliseconds of Unix time: what MongoDB calls a date. As JSON it is canonical
/// Extended JSON, `{"$date": {"$numberLong": "1700000000000"}}`; the MongoDB store keeps it as a
/// date, the other stores keep that JSON. A Filter compares dates by time on every store. A value
/// type.
class Date {
 public:
  /// The standard library's type for the same.
  using TimePoint = std::chrono::sys_time<std::chrono::milliseconds>;

  /// The beginning of 1970.
  constexpr Date() noexcept = default;
  /// Takes a moment of any clock resolution, rounded down to whole milliseconds. A floating-point
  /// time within its type's precision of a whole millisecond is that millisecond. A moment beyond
  /// them, like `std::chrono::sys_seconds::max()`, becomes the last or the first one: a comparison
  /// with any date gives what it would give without that limit. @throws std::invalid_argument for a
  /// NaN
  template <class Length>
  constexpr Date(std::chrono::sys_time<Length> time)  // NOLINT(google-explicit-constructor)
      : time_(Saturated(time.time_since_epoch())) {}

  /// This machine's time.
  static Date Now() { return std::chrono::system_clock::now(); }

  /// Returns the moment.
  [[nodiscard]] constexpr TimePoint time() const noexcept { return time_; }
  /// Returns the moment.
  constexpr operator TimePoint() const noexcept {  // NOLINT(google-explicit-constructor)
    return time_;
  }

  /// Compares by time.
  friend constexpr auto operator<=>(const Date&, const Date&) noexcept = default;

 private:
  template <class Length>
  static constexpr TimePoint Saturated(const Length& length) {
    if (!(length == length)) throw std::invalid_argument("doclock: a date that is not a number");
    const auto whole = detail::FloorTo<std::chrono::milliseconds>(length);
    if (whole) return TimePoint(*whole);
    return length > Length::zero() ? TimePoint::max() : TimePoint::min();
  }

  TimePoint time_{};
};

/// Canonical Extended JSON.
DOCLOCK_EXPORT void to_json(nlohmann::json& out, const Date& date);
/// From canonical Extended JSON. @throws std::invalid_argument if it is no date.
DOCLOCK_EXPORT void from_json(const nlohmann::json& in, Date& date);

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
