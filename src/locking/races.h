#pragma once

#include <chrono>

#include "doclock/export.h"
#include "locking/database.h"

namespace doclock::locking {

/// How often a unit runs that is Raced.
inline constexpr int kMostRuns = 10;

/// Waits before the next run, until the deadline at most: for a random time, so that those who met
/// do not meet again; up to 2 ms, twice as long each time.
DOCLOCK_EXPORT void PauseAfterRace(int runs, Deadline deadline);

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

/// Returns `use(unit)`, which is called again with another unit while it is Raced.
/// @throws as RunUntilUnraced
template <class Use>
auto RunUnit(Database& database, Access access, Deadline deadline, const Use& use) {
  return RunUntilUnraced(deadline, [&](bool) { return use(*database.Begin(access, deadline)); });
}

}  // namespace doclock::locking
