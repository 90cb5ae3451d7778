#pragma once

/// @file
/// Times and durations of std::chrono as JSON.
///
/// A time point of the system clock is a Date: canonical Extended JSON, which MongoDB keeps as a
/// date and a Filter compares by time. Like every date of MongoDB it has milliseconds: it is
/// rounded down to them. A stored date that the member's type cannot hold is an error: nanoseconds,
/// as in `system_clock::time_point`, end in the year 2262. `max()` and `min()` of a type that
/// reaches beyond the dates (like `sys_seconds`) are the last and the first date, both ways.
///
/// A duration is a number: its count, in its own unit. So `std::chrono::minutes(5)` is 5; a member
/// whose type changes its unit needs EntityTraits::Upgrade.

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "doclock/json/value_error.h"
#include "doclock/time.h"

namespace doclock::detail {

/// @throws JsonValueError if the type cannot hold the date.
template <class TimePoint>
TimePoint TimeOf(const nlohmann::json& in) {
  using Length = typename TimePoint::duration;
  const Date date = in.get<Date>();
  for (const TimePoint end : {TimePoint::min(), TimePoint::max()}) {
    const bool beyond = !FloorTo<std::chrono::milliseconds>(end.time_since_epoch());
    if (beyond && date == Date(end)) return end;
  }
  const auto length = FloorTo<Length>(date.time().time_since_epoch());
  if (!length) throw JsonValueError(in, "doclock: a date that the member's type cannot hold");
  return TimePoint(*length);
}

/// Does the whole number fit the type?
template <class Count>
bool Fits(const nlohmann::json& in) {
  return in.is_number_unsigned() ? std::in_range<Count>(in.get<std::uint64_t>())
                                 : std::in_range<Count>(in.get<std::int64_t>());
}

}  // namespace doclock::detail

/// @cond

template <class Length>
struct nlohmann::adl_serializer<std::chrono::time_point<std::chrono::system_clock, Length>> {
  using TimePoint = std::chrono::time_point<std::chrono::system_clock, Length>;

  static void to_json(nlohmann::json& out, const TimePoint& time) { out = doclock::Date(time); }
  static void from_json(const nlohmann::json& in, TimePoint& time) {
    time = doclock::detail::TimeOf<TimePoint>(in);
  }
};

template <class Count, class Unit>
struct nlohmann::adl_serializer<std::chrono::duration<Count, Unit>> {
  static void to_json(nlohmann::json& out, const std::chrono::duration<Count, Unit>& length) {
    out = length.count();
  }
  static void from_json(const nlohmann::json& in, std::chrono::duration<Count, Unit>& length) {
    if constexpr (std::is_integral_v<Count>) {
      if (!in.is_number_integer() || !doclock::detail::Fits<Count>(in)) {
        throw doclock::JsonValueError(in,
                                      "doclock: a duration that is no whole number of its type");
      }
    } else if (!in.is_number() ||
               !(std::abs(in.get<long double>()) <= std::numeric_limits<Count>::max())) {
      throw doclock::JsonValueError(in, "doclock: a duration that is no number of its type");
    }
    length = std::chrono::duration<Count, Unit>(in.get<Count>());
  }
};

/// @endcond
