#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "doclock/date.h"
#include "doclock/json/value_error.h"

/// @file
/// Times and durations of std::chrono as JSON.
///
/// A time point of the system clock is a Date: canonical Extended JSON, which MongoDB keeps as a
/// date and a Filter compares by time. Like every date of MongoDB it has milliseconds: it is
/// rounded down to them.
///
/// A duration is a number: its count, in its own unit. So `std::chrono::minutes(5)` is 5; a member
/// whose type changes its unit needs EntityTraits::Upgrade.

namespace doclock::detail {

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
    time = std::chrono::floor<Length>(in.get<doclock::Date>().time());
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
    }
    length = std::chrono::duration<Count, Unit>(in.get<Count>());
  }
};

/// @endcond
