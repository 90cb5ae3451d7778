#pragma once

#include <chrono>
#include <thread>

namespace doclock::detail {

/// Runs `f` although memory has run out or a user's Runtime fails: tries for a moment, because
/// other threads free memory. Returns true if `f` ended; false if it gave up. `f` may be called
/// again after it threw.
template <class F>
bool Insist(const F& f) noexcept {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    try {
      f();
      return true;
    } catch (...) {
      std::this_thread::sleep_for(std::chrono::milliseconds(i));
    }
  }
  return false;
}

}  // namespace doclock::detail
