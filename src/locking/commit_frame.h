#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/store.h"

namespace doclock::locking {

/// Calls `run`. If it throws an Error, that is the result of the operations that `for_each_open`
/// shows, which is told whether something may be stored. @throws what else it throws; then they are
/// pending
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

/// Calls the joined work. False: it threw, and nothing is to be stored. @throws Raced
DOCLOCK_EXPORT bool Join(CommitOp& commit, void* native);

/// Guarded, with all operations; none has a result if it throws.
DOCLOCK_EXPORT void RunGuarded(const CommitOp& commit, const std::function<void()>& run);

}  // namespace doclock::locking
