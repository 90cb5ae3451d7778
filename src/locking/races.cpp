#include "locking/races.h"

#include <algorithm>
#include <random>
#include <thread>

namespace doclock::locking {

bool PauseAfterRace(int runs, Deadline deadline) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = 1'000 << std::min(runs, 6);
  const std::chrono::microseconds pause(std::uniform_int_distribution(0, longest)(random));
  const Deadline next = std::chrono::steady_clock::now() + pause;
  if (next >= deadline) return false;
  std::this_thread::sleep_until(next);
  return true;
}

}  // namespace doclock::locking
