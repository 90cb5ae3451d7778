#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace doclock::detail {

/// Between two steps of long work beside callers who are in a hurry: so that few of their calls
/// meet a step. Ends at the deadline at the latest.
inline void RestBetweenSteps(std::chrono::steady_clock::time_point deadline) {
  constexpr std::chrono::milliseconds kRest{10};
  std::this_thread::sleep_until(std::min(deadline, std::chrono::steady_clock::now() + kRest));
}

}  // namespace doclock::detail
