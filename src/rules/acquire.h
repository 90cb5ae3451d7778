#pragma once

#include "rules/lock_state.h"

namespace doclock::rules {

// Who is granted a lock. The table stands at AcquireOp (doclock/store.h).

/// Grants the lock of a document that is there, or says why not: kDone, kBusy (and then an intent
/// may be left: `state` may have changed), kFailed. Fills in the result but for the body. `state`
/// has an incarnation.
void Acquire(AcquireOp& op, LockState& state, TimePoint now);

/// Grants the lock of a document that this operation makes: `state` is empty. Its incarnation is
/// the grant's id (see AcquireOp::born). Fills in the result but for the body.
void AcquireNew(AcquireOp& op, LockState& state, TimePoint now);

/// The lock passes to `grant`, exclusively. This ends an intent and all shares. The caller has
/// raised the version: a hand-over does it once for both.
void Grant(LockState& state, const GrantRequest& grant, TimePoint now);

/// A lock is not to be had now: tells of the holder, and of the longer of its lease and min_hold.
void TellBusy(StoreOp& op, const LockState& state, TimePoint now);

/// A live lock stands in the way of something that min_hold does not hinder.
void TellLease(StoreOp& op, const LockState& state, TimePoint now);

}  // namespace doclock::rules
