#pragma once

#include "doclock/export.h"
#include "rules/lock_state.h"

namespace doclock::rules {

// The queue of a document's waiters, of all processes. Who frees the lock grants it to the first
// live entry, in the same write, if that entry is exclusive. A shared one takes the free lock by
// its next attempt, and nobody passes it meanwhile. Exclusion does not depend on the queue.

/// The first live entry; null: none.
[[nodiscard]] DOCLOCK_EXPORT const QueueEntry* FirstInQueue(const LockState& state,
                                                            TimePoint now) noexcept;

/// May a search, which leaves no entry, take this lock? It is free, and others do not wait for it.
[[nodiscard]] inline bool MayTakeNext(const LockState& state, TimePoint now) noexcept {
  return state.IsFree(now) && FirstInQueue(state, now) == nullptr;
}

/// How many live entries are before the one of this id? All of them if it has none,
/// or if it is nil.
[[nodiscard]] DOCLOCK_EXPORT int CountAhead(const LockState& state, const Uuid& id,
                                            TimePoint now) noexcept;

/// Does this id have an entry, live or over?
[[nodiscard]] DOCLOCK_EXPORT bool HasEntry(const LockState& state, const Uuid& id) noexcept;

/// The live entries that a share may not pass.
struct BeforeShare {
  int shares = 0;
  TimePoint first_share_ends = TimePoint::max();
  bool writers = false;
  TimePoint last_writer_ends{};  ///< If there are writers.
};

/// The live entries before that of this id. All of them if it has no live one.
[[nodiscard]] DOCLOCK_EXPORT BeforeShare FindBefore(const LockState& state, const Uuid& id,
                                                    TimePoint now) noexcept;

/// Would PassOn grant the lock? It is free, and the first live entry is exclusive.
[[nodiscard]] DOCLOCK_EXPORT bool MayPassOn(const LockState& state, TimePoint now) noexcept;

/// Grants a free lock (IsFree) to the first live entry if it is exclusive (MayPassOn), at the
/// version that the caller has raised, with a lease of at most kProbation, and sets `passed_on`.
/// Otherwise the lock stays as it is. Drops the entries that are over.
DOCLOCK_EXPORT void PassOn(LockState& state, TimePoint now) noexcept;

/// Leaves or refreshes the entry of an attempt that is kBusy, if it asks for one, and
/// fills in `queued`, `ahead`, `version` and `born`. Drops the entries that are over. If it throws,
/// nothing has changed that counts.
DOCLOCK_EXPORT void Enqueue(AcquireOp& op, LockState& state, TimePoint now, std::int64_t instance);

/// Removes the entry of this id, if there is one.
DOCLOCK_EXPORT void RemoveEntry(LockState& state, const Uuid& id) noexcept;

}  // namespace doclock::rules
