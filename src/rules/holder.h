#pragma once

#include "doclock/export.h"
#include "rules/lock_state.h"

namespace doclock::rules {

// The operations of a lock's holder.

/// The mark of a release that hands the lock over, or clears it.
[[nodiscard]] inline const Uuid& MarkOf(const WriteOp& op) noexcept {
  return op.mark.is_nil() ? op.lock_id : op.mark;
}

/// Is there a live lease of this id, in the mode that it was granted in?
[[nodiscard]] DOCLOCK_EXPORT bool MayRenew(const RenewOp& op, const LockState& state,
                                           TimePoint now) noexcept;

/// Renews the lease: kDone, kLost. A renewal never revives.
DOCLOCK_EXPORT void Renew(RenewOp& op, LockState& state, TimePoint now);

/// May this write be carried out? Lock id and version decide; the time decides only for a share.
/// False: the operation is settled (kLost).
[[nodiscard]] DOCLOCK_EXPORT bool MayWrite(WriteOp& op, const LockState& state, TimePoint now);

/// Carries it out, once the body (if there is one) is in place: kDone. An erasure only sets its
/// version.
DOCLOCK_EXPORT void Write(WriteOp& op, LockState& state, TimePoint now);

/// Does this write, when it was done, free a lock that others may wait for?
[[nodiscard]] inline bool Frees(const WriteOp& op) noexcept {
  return op.write != WriteKind::kCheckpoint && op.next == nullptr;
}

}  // namespace doclock::rules
