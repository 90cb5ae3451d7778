#pragma once

#include "doclock/export.h"
#include "rules/lock_state.h"

namespace doclock::rules {

// Who is granted a lock, as AcquireOp says it (doclock/store/operations.h):
//
// | stored                        | exclusive asked          | share asked, limit n       |
// |-------------------------------|--------------------------|----------------------------|
// | free                          | granted                  | granted                    |
// | free, intent of another       | granted                  | busy until the intent ends |
// | exclusive, live               | busy                     | busy                       |
// | exclusive, lease over         | taken over               | taken over                 |
// | fewer than n live shares      | busy, intent left        | granted                    |
// | the same, intent of a writer  | busy; intent renewed by  | busy until the intent ends |
// |                               | its owner only           |                            |
// | n live shares or more         | busy, intent left        | busy until a share ends    |
// | all shares over               | taken over               | as free                    |
//
// min_hold shuts out all of them.

/// Can this lock be granted now? False: the operation is settled (kBusy, kFailed). An intent is the
/// caller's matter.
[[nodiscard]] DOCLOCK_EXPORT bool MayAcquire(AcquireOp& op, const LockState& state, TimePoint now);

/// Grants the lock of a document that is there, or says why not: kDone, kBusy (and then an intent
/// may be left: `state` may have changed), kFailed. Fills in the result but for the body. `state`
/// has an incarnation.
DOCLOCK_EXPORT void Acquire(AcquireOp& op, LockState& state, TimePoint now);

/// Grants the lock of a document that this operation makes: `state` is empty. Its incarnation is
/// the grant's id (see AcquireOp::born). Fills in the result but for the body.
DOCLOCK_EXPORT void AcquireNew(AcquireOp& op, LockState& state, TimePoint now);

/// The lock passes to `grant`, exclusively. This ends an intent and all shares. The caller has
/// raised the version: a hand-over does it once for both.
DOCLOCK_EXPORT void Grant(LockState& state, const GrantRequest& grant, TimePoint now);

/// A lock is not to be had now: tells of the holder, and of the longer of its lease and min_hold.
DOCLOCK_EXPORT void TellBusy(StoreOp& op, const LockState& state, TimePoint now);

/// A live lock stands in the way of something that min_hold does not hinder.
DOCLOCK_EXPORT void TellLease(StoreOp& op, const LockState& state, TimePoint now);

}  // namespace doclock::rules
