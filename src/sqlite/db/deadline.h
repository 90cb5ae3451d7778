#pragma once

#include <chrono>

namespace doclock::sqlite {

/// The deadline of one call of the store. Callers wait on their own threads, so it uses the
/// ordinary steady clock and not that of the leases.
using Deadline = std::chrono::steady_clock::time_point;

/// `budget` from now, for any budget.
inline Deadline DeadlineIn(std::chrono::milliseconds budget) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);
  return std::chrono::steady_clock::now() + (budget < kLongest ? budget : kLongest);
}

}  // namespace doclock::sqlite
