#pragma once

#include <optional>

#include "doclock/export.h"
#include "rules/lock_state.h"
#include "rules/refusal.h"

namespace doclock::rules {

// The operations of a lock's holder.

/// Is there a live lease of this id, in the mode that it was granted in?
[[nodiscard]] DOCLOCK_EXPORT bool MayRenew(const RenewOp& op, const LockState& state,
                                           TimePoint now) noexcept;

/// Renews the lease: kDone, kLost. A renewal never revives.
DOCLOCK_EXPORT void Renew(RenewOp& op, LockState& state, TimePoint now, std::int64_t instance = 0);

/// A lease ends with the store instance that renewed it, unless that was for another's lock.
inline void RenewLease(const RenewOp& op, Lease& lease, TimePoint now,
                       std::int64_t instance) noexcept {
  lease.Renew(op.request.ttl, now);
  if (!op.request.keep_process) lease.instance = op.request.detached ? 0 : instance;
}

/// Why this write may not be carried out (kLost); none if it may. Lock id and version decide; the
/// time decides only for a share. A kLeave needs the lock, a live share or an entry, whatever the
/// version.
[[nodiscard]] DOCLOCK_EXPORT std::optional<Refusal> WhyNotWrite(const WriteOp& op,
                                                                const LockState& state,
                                                                TimePoint now);

/// Carries it out, once the body (if there is one) is in place: kDone. An erasure only sets its
/// version. A release passes the lock on to the first of the queue (LockState::passed_on), and so
/// does that of the last live share.
DOCLOCK_EXPORT void Write(WriteOp& op, LockState& state, TimePoint now, std::int64_t instance = 0);

/// Did this write, which has left this state, free a lock that others may wait for? False if it was
/// passed on to the first of the queue. True of a waiter that leaves while shares are held: others
/// may no longer be behind it, and share too.
[[nodiscard]] inline bool Frees(const WriteOp& op, const LockState& after) noexcept {
  if (op.request.write == WriteKind::kCheckpoint || op.request.next != nullptr) return false;
  if (op.request.write == WriteKind::kLeave) return !after.HasLockId() || after.IsShared();
  return !after.passed_on.done;
}

/// Does this write, which has left this state, concern waiters? It freed the lock, or granted it to
/// the first of the queue. The store then notifies them.
[[nodiscard]] inline bool ConcernsWaiters(const WriteOp& op, const LockState& after) noexcept {
  return after.passed_on.done || Frees(op, after);
}

}  // namespace doclock::rules
