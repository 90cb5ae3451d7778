#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "doclock/detail/floor_to.h"
#include "doclock/export.h"

namespace doclock {

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

}  // namespace doclock
