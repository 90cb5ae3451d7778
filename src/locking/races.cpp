#include "locking/races.h"

#include <algorithm>
#include <random>
#include <thread>

namespace doclock::locking {
namespace {

constexpr int kMostRuns = 10;

/// Random, so that those who met each other do not meet again; up to 2 ms, twice as long each time.
void Pause(int runs) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = 1'000 << std::min(runs, 6);
  std::this_thread::sleep_for(
      std::chrono::microseconds(std::uniform_int_distribution(0, longest)(random)));
}

}  // namespace

void RunUntilUnraced(Deadline deadline, const std::function<void(bool)>& run) {
  for (int runs = 1;; ++runs) {
    try {
      return run(runs > 1);
    } catch (const Raced&) {
      if (runs == kMostRuns || std::chrono::steady_clock::now() >= deadline) throw;
    }
    Pause(runs);
  }
}

}  // namespace doclock::locking
