#pragma once

#include <chrono>

namespace doclock::sqlite {

/// Until when one call of the store may take. Callers wait with their own threads, so this is the
/// ordinary steady clock and not that of the leases.
using Deadline = std::chrono::steady_clock::time_point;

/// `budget` from now, for any budget.
inline Deadline DeadlineIn(std::chrono::milliseconds budget) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);
  return std::chrono::steady_clock::now() + (budget < kLongest ? budget : kLongest);
}

}  // namespace doclock::sqlite
