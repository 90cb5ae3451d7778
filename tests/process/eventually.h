#pragma once

#include <chrono>
#include <thread>

namespace doclock::test {

/// Asks again until it is so, for five minutes at most: the machine may have much else to do.
template <class Condition>
bool Eventually(Condition&& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace doclock::test
