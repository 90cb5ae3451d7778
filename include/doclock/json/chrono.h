#pragma once

#include <chrono>
#include <nlohmann/json.hpp>

#include "doclock/date.h"

/// @file
/// Times and durations of std::chrono as JSON.
///
/// A time point of the system clock is a Date: canonical Extended JSON, which MongoDB keeps as a
/// date and a Filter compares by time. Like every date of MongoDB it has milliseconds: it is
/// rounded down to them.
///
/// A duration is a number: its count, in its own unit. So `std::chrono::minutes(5)` is 5; a member
/// whose type changes its unit needs EntityTraits::Upgrade.

/// @cond

template <class Length>
struct nlohmann::adl_serializer<std::chrono::time_point<std::chrono::system_clock, Length>> {
  using TimePoint = std::chrono::time_point<std::chrono::system_clock, Length>;

  static void to_json(nlohmann::json& out, const TimePoint& time) { out = doclock::Date(time); }
  static void from_json(const nlohmann::json& in, TimePoint& time) {
    time = std::chrono::time_point_cast<Length>(in.get<doclock::Date>().time());
  }
};

template <class Count, class Unit>
struct nlohmann::adl_serializer<std::chrono::duration<Count, Unit>> {
  static void to_json(nlohmann::json& out, const std::chrono::duration<Count, Unit>& length) {
    out = length.count();
  }
  static void from_json(const nlohmann::json& in, std::chrono::duration<Count, Unit>& length) {
    length = std::chrono::duration<Count, Unit>(in.get<Count>());
  }
};

/// @endcond
