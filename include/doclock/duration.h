#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

#include "doclock/detail/floor_to.h"

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

}  // namespace doclock
