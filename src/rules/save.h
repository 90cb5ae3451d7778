#pragma once

#include "doclock/export.h"
#include "rules/lock_state.h"

namespace doclock::rules {

// Optimistic writes, without a lock.

/// May this save be carried out on the stored document (null: there is none)? Version and
/// incarnation must match, and no lock may be live. False: the operation is settled.
[[nodiscard]] DOCLOCK_EXPORT bool MaySave(SaveOp& op, const LockState* state, TimePoint now);

/// Carries it out, once the body is in place: kDone. Clears the expired lock, and passes it on to
/// the first of the queue. An insert finds `state` empty except for its incarnation; an erasure
/// only sets its version. Returns whether this concerns waiters: it cleared a lock, or granted it
/// to one of them. The store then notifies them.
DOCLOCK_EXPORT bool Save(SaveOp& op, LockState& state, TimePoint now);

}  // namespace doclock::rules
