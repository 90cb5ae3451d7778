#pragma once

#include <optional>
#include <vector>

#include "doclock/export.h"
#include "rules/lock_state.h"
#include "rules/refusal.h"

namespace doclock::rules {

// Shared locks: each share is a lease of its own, and counts while it is live.

/// WhyNotAcquire of a share.
[[nodiscard]] DOCLOCK_EXPORT std::optional<Refusal> WhyNotShare(const AcquireOp& op,
                                                                const LockState& state,
                                                                TimePoint now);

/// Adds a share, at the next version, and drops those that are over. This removes its own entry
/// from the queue. If it throws, nothing has changed.
DOCLOCK_EXPORT void GrantShare(LockState& state, const GrantRequest& grant, TimePoint now,
                               std::int64_t instance = 0);

/// Renews one share.
DOCLOCK_EXPORT void RenewShare(RenewOp& op, LockState& state, TimePoint now,
                               std::int64_t instance = 0);

/// Ends the live share op.lock_id, whose note (a body) is in place. The last live one frees the
/// lock, marked by WriteOp::Request::ReleaseId, and passes it on to the first of the queue
/// (PassOn). The version rises once if there is a note or the lock was passed on.
DOCLOCK_EXPORT void EndShare(const WriteOp& op, LockState& state, TimePoint now);

/// Returns the share that ends last; of several that end together, the one that was granted last.
/// There has to be one.
[[nodiscard]] DOCLOCK_EXPORT const Share& LastToEnd(const std::vector<Share>& shares) noexcept;

/// Makes the lock's own lease that of the share which ends last, for a store that loaded shares. No
/// shares (there ought to be some): it is over.
DOCLOCK_EXPORT void Cover(LockState& state, TimePoint now);

}  // namespace doclock::rules
