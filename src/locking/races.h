#pragma once

#include <chrono>

#include "doclock/export.h"
#include "locking/database.h"

namespace doclock::locking {

/// Waits before the next run for a random time, so that clients that met do not meet again: up to
/// 2 ms, twice as long each time, and 64 ms at most. Returns whether the deadline leaves time for
/// that; otherwise it does not wait.
DOCLOCK_EXPORT bool PauseAfterRace(int runs, Deadline deadline);

/// Returns `run(again)`, which is called again after short pauses while it is Raced. `again` says
/// whether it ran before. @throws what it throws; Raced once the deadline leaves no time
template <class Run>
auto RunUntilUnraced(Deadline deadline, const Run& run) {
  for (int runs = 1;; ++runs) {
    try {
      return run(runs > 1);
    } catch (const Raced&) {
      if (!PauseAfterRace(runs, deadline)) throw;
    }
  }
}

/// Returns `use(unit)`, which is called again with another unit while it is Raced.
/// @throws as RunUntilUnraced
template <class Use>
auto RunUnit(Database& database, Access access, Deadline deadline, const Use& use) {
  return RunUntilUnraced(deadline, [&](bool) { return use(*database.Begin(access, deadline)); });
}

}  // namespace doclock::locking
