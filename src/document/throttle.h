#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace doclock::detail {

/// Pauses between two steps of long background work, so that few calls of other callers meet a
/// step. Returns at the deadline at the latest.
inline void RestBetweenSteps(std::chrono::steady_clock::time_point deadline) {
  constexpr std::chrono::milliseconds kRest{10};
  std::this_thread::sleep_until(std::min(deadline, std::chrono::steady_clock::now() + kRest));
}

}  // namespace doclock::detail
