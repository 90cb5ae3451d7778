#pragma once

#include "rules/lock_state.h"

namespace doclock::rules {

// Optimistic writes, without a lock.

/// May this save be carried out on what is stored (null: there is no such document)? By version and
/// incarnation, and no lock may be live. False: the operation is settled.
[[nodiscard]] bool MaySave(SaveOp& op, const LockState* state, TimePoint now);

/// Carries it out, once the body is in place: kDone. The lock, which is over, goes with it. An
/// insert finds `state` empty but for its incarnation; an erasure only tells its version.
void Save(SaveOp& op, LockState& state);

}  // namespace doclock::rules
