#pragma once

#include <string>

#include "doclock/time.h"

namespace doclock::cli {

/// "500ms", "30s", "5m", "2h", "1d", "90" (seconds), "forever".
/// @throws std::invalid_argument saying what is allowed
Duration ParseDuration(const std::string& text);

/// The range of an option's time, both ends included.
struct DurationRange {
  Duration least = Duration();
  Duration most = kForever;
};

/// ParseDuration within a range. @throws std::invalid_argument saying what is allowed
Duration ParseDuration(const std::string& text, const DurationRange& range);

/// The duration for display: "2h 5m", "30s", "120ms".
std::string DurationText(std::chrono::milliseconds time);

}  // namespace doclock::cli
