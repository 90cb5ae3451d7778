#include "locking/races.h"

#include <algorithm>
#include <random>
#include <thread>

namespace doclock::locking {

void PauseAfterRace(int runs) {
  thread_local std::minstd_rand random(std::random_device{}());
  const int longest = 1'000 << std::min(runs, 6);
  std::this_thread::sleep_for(
      std::chrono::microseconds(std::uniform_int_distribution(0, longest)(random)));
}

}  // namespace doclock::locking
