#pragma once

#include <chrono>

#include "locking/database.h"

namespace doclock::locking {

/// How often a unit runs that other clients race.
inline constexpr int kMostRuns = 10;

/// Waits before the next run, until the deadline at most: for a random time, so that those who met
/// do not meet again; up to 2 ms, twice as long each time.
void PauseAfterRace(int runs, Deadline deadline);

/// Returns `run(again)`, which is called again after short pauses while it is Raced. @param run is
/// told whether it ran before. @throws what it throws; Raced after ten times, or at the deadline
template <class Run>
auto RunUntilUnraced(Deadline deadline, const Run& run) {
  for (int runs = 1;; ++runs) {
    try {
      return run(runs > 1);
    } catch (const Raced&) {
      if (runs == kMostRuns || std::chrono::steady_clock::now() >= deadline) throw;
    }
    PauseAfterRace(runs, deadline);
  }
}

}  // namespace doclock::locking
