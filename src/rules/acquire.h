#pragma once

#include <optional>

#include "doclock/export.h"
#include "rules/lock_state.h"
#include "rules/refusal.h"

namespace doclock::rules {

// Who is granted a lock, as AcquireOp says it (doclock/store/operations.h):
//
// | stored                        | exclusive asked          | share asked, limit n       |
// |-------------------------------|--------------------------|----------------------------|
// | free                          | granted                  | granted                    |
// | exclusive, live               | busy                     | busy                       |
// | exclusive, lease over         | taken over               | taken over                 |
// | fewer than n live shares      | busy                     | granted                    |
// | n live shares or more         | busy                     | busy until a share ends    |
// | all shares over               | taken over               | as free                    |
//
// min_hold shuts out all of them. Neither do they pass the entries of others in the queue
// (rules/queue.h): an exclusive attempt passes none, and a share no exclusive one. A share passes
// shared ones only if its limit has room for these too.

/// Does this attempt's id hold the lock already, from the queue, or a share by an earlier attempt?
/// Then it is granted as it is.
[[nodiscard]] DOCLOCK_EXPORT bool HoldsAlready(const AcquireOp& op, const LockState& state,
                                               TimePoint now) noexcept;

/// Why this lock cannot be granted now (kBusy, kFailed); none if it can, or if HoldsAlready holds.
[[nodiscard]] DOCLOCK_EXPORT std::optional<Refusal> WhyNotAcquire(const AcquireOp& op,
                                                                  const LockState& state,
                                                                  TimePoint now);

/// Grants the lock of a document that is there, or says why not: kDone, kBusy (and then an entry
/// may be left, or the lock be granted to the first of the queue: `state` may have changed),
/// kFailed. Fills in the result but for the body. `state` has an incarnation. `instance`: the store
/// instance that was asked.
DOCLOCK_EXPORT void Acquire(AcquireOp& op, LockState& state, TimePoint now,
                            std::int64_t instance = 0);

/// Grants the lock of a document that this operation makes: `state` is empty. Its incarnation is
/// the grant's id (see AcquireOp::Result::born). Fills in the result but for the body.
DOCLOCK_EXPORT void AcquireNew(AcquireOp& op, LockState& state, TimePoint now,
                               std::int64_t instance = 0);

/// The lock passes to `grant`, exclusively, at the next version. This ends all shares, and removes
/// its own entry from the queue. If it throws, nothing has changed.
DOCLOCK_EXPORT void Grant(LockState& state, const GrantRequest& grant, TimePoint now,
                          std::int64_t instance = 0);

/// The lease of a grant: it ends with `instance` too, unless it is detached.
[[nodiscard]] inline Lease LeaseOf(const GrantRequest& grant, TimePoint now,
                                   std::int64_t instance) noexcept {
  return {now, grant.ttl, grant.detached ? 0 : instance};
}

}  // namespace doclock::rules
