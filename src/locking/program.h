#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/store/store.h"
#include "locking/database.h"

/// @file
/// The program around the rules: load, decide, commit. And what of it stores use that carry out
/// some of the operations in their own way.

namespace doclock::locking {

/// The order in which all clients load documents: units that lock what they load cannot wait for
/// each other in a circle.
inline bool StandsBefore(const StoreOp* a, const StoreOp* b) {
  if (a->collection != b->collection) return a->collection->name() < b->collection->name();
  return *a->key < *b->key;
}

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

/// See Store::Execute: all operations in one unit. One document occurs once among them; only
/// renewals of it may repeat, and are decided one after the other.
DOCLOCK_EXPORT void Execute(Database& database, std::span<StoreOp* const> ops, Deadline deadline);

/// See Store::ReadTogether.
DOCLOCK_EXPORT void ReadTogether(Database& database, std::span<StoreOp* const> reads,
                                 Deadline deadline);

/// Finds the document of an operation, puts it into `found`, and decides it. If it decides none,
/// the operation's result stands.
using DecideOne = std::function<void(Unit& unit, std::vector<Document>& found)>;
/// Executes one operation whose document `decide` finds.
void ExecuteAlone(Database& database, StoreOp& op, Deadline deadline, const DecideOne& decide);

/// See Store::Commit: all operations in one unit. A database without transactions refuses.
DOCLOCK_EXPORT void CommitAll(Database& database, CommitOp& commit, Deadline deadline);

/// Calls `run`. Turns an Error into the result of every operation that has none; `for_each_open`
/// visits them, and gets whether something may be stored. Rethrows anything else, and leaves those
/// operations pending.
template <class Run, class ForEachOpen>
void Guarded(const Run& run, const ForEachOpen& for_each_open) {
  try {
    run();
  } catch (const InDoubtException& error) {
    for_each_open([&](StoreOp& op) { op.Doubt(error.what()); }, true);
  } catch (const Error& error) {
    for_each_open([&](StoreOp& op) { op.Fail(error.errc(), error.what()); }, false);
  } catch (...) {
    // What was decided may be stored, or not.
    for_each_open([](StoreOp& op) { op.status = OpStatus::kPending; }, true);
    throw;
  }
}

// What every store does around the writes of a CommitOp.

/// The places of the operations in the order of all clients (StandsBefore).
[[nodiscard]] DOCLOCK_EXPORT std::vector<std::size_t> PlacesInOrder(const CommitOp& commit);

/// Refuses an operation that is refused whatever is stored, and returns whether there was one.
/// @param sorted PlacesInOrder of them
DOCLOCK_EXPORT bool RefuseFaulty(const CommitOp& commit, std::span<const std::size_t> sorted);

/// Clears all results, before an attempt.
DOCLOCK_EXPORT void Reopen(CommitOp& commit) noexcept;

/// One was refused, so the others are not stored.
DOCLOCK_EXPORT void KeepOnly(const StoreOp& refused, const CommitOp& commit) noexcept;

/// Calls the joined work. Returns true if it ended; false if it threw, and the caller stores
/// nothing. @throws Raced
DOCLOCK_EXPORT bool Join(CommitOp& commit, void* native);

/// Guarded, with all operations; none has a result if it throws.
DOCLOCK_EXPORT void RunGuarded(const CommitOp& commit, const std::function<void()>& run);

// What looks at many documents. See Store.

DOCLOCK_EXPORT void Query(Database& database, Collection& collection, const Filter& filter,
                          const std::function<bool(QueryRow&&)>& sink, Deadline deadline);
DOCLOCK_EXPORT void AcquireNext(Database& database, const Filter& filter, AcquireOp& op, Key& key,
                                Deadline deadline);
/// Fills in AcquireOp::Result::free_in of a search that found nothing. @param now the time of day,
/// if the filter has Due: see Unit::WallTime
DOCLOCK_EXPORT void TellFreeIn(Unit& unit, const Filter& filter,
                               const std::optional<std::chrono::system_clock::time_point>& now,
                               AcquireOp& op);
DOCLOCK_EXPORT std::int64_t Purge(Database& database, Collection& collection, std::int64_t limit,
                                  Deadline deadline);
DOCLOCK_EXPORT LockPage ListLocks(Database& database, Collection& collection,
                                  const LockQuery& query, const std::string& after,
                                  Deadline deadline);

}  // namespace doclock::locking
