#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <nlohmann/json.hpp>

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
  /// The same moment, rounded down to whole milliseconds.
  template <class Length>
  constexpr Date(
      std::chrono::sys_time<Length> time) noexcept  // NOLINT(google-explicit-constructor)
      : time_(std::chrono::floor<std::chrono::milliseconds>(time)) {}

  /// This machine's time.
  static Date Now() noexcept { return std::chrono::system_clock::now(); }

  /// Returns the moment.
  [[nodiscard]] constexpr TimePoint time() const noexcept { return time_; }
  /// Returns the moment.
  constexpr operator TimePoint() const noexcept {  // NOLINT(google-explicit-constructor)
    return time_;
  }

  /// Compares by time.
  friend constexpr auto operator<=>(const Date&, const Date&) noexcept = default;

 private:
  TimePoint time_{};
};

/// Canonical Extended JSON.
DOCLOCK_EXPORT void to_json(nlohmann::json& out, const Date& date);
/// From canonical Extended JSON. @throws std::invalid_argument if it is no date.
DOCLOCK_EXPORT void from_json(const nlohmann::json& in, Date& date);

}  // namespace doclock
