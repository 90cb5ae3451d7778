#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "doclock/export.h"
#include "doclock/store/store.h"
#include "rules/lock_state.h"

namespace doclock::rules {

/// How an operation ends that the rules do not let be carried out.
struct Refusal {
  OpStatus status;
  std::unique_ptr<OpDetail> detail = nullptr;
};

/// Gives an operation the outcome of its refusal. Returns whether there is one.
inline bool Settle(StoreOp& op, std::optional<Refusal>&& refusal) noexcept {
  if (!refusal) return false;
  op.status = refusal->status;
  op.detail = std::move(refusal->detail);
  return true;
}

/// A live lock stands in the way of something that min_hold does not hinder.
[[nodiscard]] Refusal BusyByLease(const LockState& state, TimePoint now);

// The queue of a document's waiters, of all processes. The write that frees the lock also grants it
// to the first live entry, if that entry is exclusive. A shared entry takes the free lock by its
// next attempt, and no other passes it meanwhile. Exclusion does not depend on the queue.

/// The first live entry; null: none.
[[nodiscard]] DOCLOCK_EXPORT const QueueEntry* FirstInQueue(const LockState& state,
                                                            TimePoint now) noexcept;

/// May a search, which leaves no entry, take this lock? It is free, and others do not wait for it.
[[nodiscard]] inline bool MayTakeNext(const LockState& state, TimePoint now) noexcept {
  return state.IsFree(now) && FirstInQueue(state, now) == nullptr;
}

/// How many live entries are before the one of this id? All of them if it has none, or
/// if it is nil.
[[nodiscard]] DOCLOCK_EXPORT int CountAhead(const LockState& state, const Uuid& id,
                                            TimePoint now) noexcept;

/// Does this id have an entry, live or over?
[[nodiscard]] DOCLOCK_EXPORT bool HasEntry(const LockState& state, const Uuid& id) noexcept;

/// Would PassOn grant the lock? It is free, and the first live entry is exclusive.
[[nodiscard]] DOCLOCK_EXPORT bool MayPassOn(const LockState& state, TimePoint now) noexcept;

/// Grants a free lock (IsFree) to the first live entry if it is exclusive (MayPassOn), at the
/// version that the caller has raised, with a lease of at most kProbation, and sets `passed_on`.
/// Otherwise the lock stays as it is. Drops the entries that are over.
DOCLOCK_EXPORT void PassOn(LockState& state, TimePoint now) noexcept;

/// Removes the entry of this id, if there is one.
DOCLOCK_EXPORT void RemoveEntry(LockState& state, const Uuid& id) noexcept;

// Shared locks: each share is a lease of its own, and counts while it is live.

/// Returns the share that ends last; of several that end together, the one that was granted last.
/// There has to be one.
[[nodiscard]] DOCLOCK_EXPORT const Share& LastToEnd(const std::vector<Share>& shares) noexcept;

/// Makes the lock's own lease that of the share which ends last, for a store that loaded shares. No
/// shares (there ought to be some): it is over.
DOCLOCK_EXPORT void Cover(LockState& state, TimePoint now);

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
// min_hold shuts out all of them. Neither do they pass the entries of others in the queue:
// an exclusive attempt passes none, and a share no exclusive one. A share passes
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
/// kFailed. Fills in the result except the body. `state` has an incarnation. `instance`: the store
/// instance that was asked.
DOCLOCK_EXPORT void Acquire(AcquireOp& op, LockState& state, TimePoint now,
                            std::int64_t instance = 0);

/// Grants the lock of a document that this operation makes: `state` is empty. Its incarnation is
/// the grant's id (see AcquireOp::Result::born). Fills in the result except the body.
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

// Optimistic writes, without a lock.

/// Why this save may not be carried out on the stored document, or on none if `state` is null; none
/// if it may. Version and incarnation must match (kConflict), and no lock may be live (kBusy)
/// unless it only expects the document.
[[nodiscard]] DOCLOCK_EXPORT std::optional<Refusal> WhyNotSave(const SaveOp& op,
                                                               const LockState* state,
                                                               TimePoint now);

/// Carries out one that writes, once the body is in place: kDone. Clears the expired lock, and
/// passes it on to the first of the queue. An insert finds `state` empty except for its
/// incarnation; an erasure only sets its version. Returns whether this concerns waiters: it cleared
/// a lock, or granted it to one of them. The store then notifies them.
DOCLOCK_EXPORT bool Save(SaveOp& op, LockState& state, TimePoint now);

// What others than the holder do to a lock.

/// Is there a lock whose lease is over, for a purge to clear? A lock that others wait for is
/// theirs.
[[nodiscard]] inline bool IsPurgeable(const LockState& state, TimePoint now) noexcept {
  return state.HasLockId() && !state.IsLive(now) && FirstInQueue(state, now) == nullptr;
}

/// Clears a lock that is over, and a queue that is over: no version rises.
DOCLOCK_EXPORT void Purge(LockState& state) noexcept;

// How a lock appears to reads and lists.

/// Fills in the lock's part of the result: kDone. The store fills in the body.
DOCLOCK_EXPORT void Read(ReadOp& op, const LockState& state, TimePoint now);

/// Adds the rows of one document that the query asks for. The store has filled `row` with the key
/// and whether there is a body.
DOCLOCK_EXPORT void AddRows(std::vector<LockRow>& rows, const LockRow& row, const LockState& state,
                            const LockQuery& query, TimePoint now);

/// What an operation asks for, as far as the operation alone tells it. A database may carry out
/// operations of some kinds without loading their documents, each in one guarded statement. That
/// does what the rules would do, or nothing.
enum class Plain : std::uint8_t {
  kNone,             ///< Only the document tells what to do: a read, a waiter that leaves.
  kTakeFree,         ///< An exclusive lock, without an entry in the queue and without min_hold.
  kTakeAndClose,     ///< As kTakeFree, with min_hold.
  kTakeShare,        ///< A share, without an entry in the queue.
  kJoinQueue,        ///< A lock or a share, else an entry in the queue.
  kRenew,            ///< The renewal of an exclusive lock.
  kRenewShare,       ///< The renewal of a share.
  kRelease,          ///< The release of an exclusive lock. The body stays.
  kWriteAndRelease,  ///< As kRelease, with a new body.
  kCheckpoint,       ///< A new body and a new lease.
  kHandOver,         ///< A hand-over without min_hold; the body stays, or there is a new one.
  kOtherWrite,       ///< Any other write under an exclusive lock: one that merges, say.
  kEndShare,         ///< The release of a share.
  kSave,             ///< An insert, or a save of a known version.
  kEraseAny,         ///< An erasure without a lock, whatever the version.
};

/// Returns the kind of a request that is valid (FaultOf).
[[nodiscard]] DOCLOCK_EXPORT Plain PlainOf(const StoreOp& op) noexcept;

/// An operation and its kind.
struct PlainOp {
  Plain kind;
  StoreOp* op;
};

}  // namespace doclock::rules
