// Writes of a holder, optimistic writes, and purges.

#include <algorithm>
#include <memory>
#include <utility>

#include "rules/rules.h"

namespace doclock::rules {

const Share& LastToEnd(const std::vector<Share>& shares) noexcept {
  return *std::max_element(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return std::pair(a.lease.End(), a.fence) < std::pair(b.lease.End(), b.fence);
  });
}

void Cover(LockState& state, TimePoint now) {
  if (state.shares.empty()) return state.lease.Expire(now);
  state.CoverWith(LastToEnd(state.shares));
}

namespace {

Share* FindLive(LockState& state, const Uuid& id, TimePoint now) noexcept {
  return const_cast<Share*>(std::as_const(state).LiveShare(id, now));
}

/// Renews one share, which is live.
void RenewShare(const RenewOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  Share& share = *FindLive(state, op.request.lock_id, now);
  const TimePoint end = share.lease.End();
  RenewLease(op, share.lease, now, instance);
  if (share.lease.End() > state.lease.End()) {
    state.CoverWith(share);
  } else if (share.lease.End() < end || share.lease.End() == state.lease.End()) {
    Cover(state, now);
  }
}

/// Ends the live share op.lock_id, whose note (a body) is in place. The last live one frees the
/// lock, marked by WriteOp::Request::ReleaseId, and passes it on to the first of the queue
/// (PassOn). The version rises once if there is a note or the lock was passed on.
void EndShare(const WriteOp& op, LockState& state, TimePoint now) {
  if (op.request.body) state.RaiseVersion();
  Share* const share = FindLive(state, op.request.lock_id, now);
  std::vector<Share>& shares = state.shares;
  const bool covers = share->lease.End() == state.lease.End();
  std::swap(*share, shares.back());
  shares.pop_back();
  if (covers && !shares.empty()) Cover(state, now);
  if (!shares.empty() && state.IsLive(now)) return;
  shares.clear();
  state.lock_id = Uuid{};
  // The next holder's fence is higher than that of every share.
  if (!op.request.body && MayPassOn(state, now)) state.RaiseVersion();
  PassOn(state, now);
  state.released = op.request.ReleaseId();
}

/// The lock is gone, or the next holder's; `released` says who ended it.
void Release(const WriteOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  if (op.request.next != nullptr) {
    Grant(state, *op.request.next, now, instance);  // may throw: before the rest
    RemoveEntry(state, op.request.next->entry);
  } else {
    state.RaiseVersion();
    state.lock_id = Uuid{};
    PassOn(state, now);
  }
  state.released = op.request.ReleaseId();
}

void Leave(const WriteOp& op, LockState& state, TimePoint now) {
  RemoveEntry(state, op.request.lock_id);
  if (state.IsHeldBy(op.request.lock_id)) return Release(op, state, now, 0);
  if (state.LiveShare(op.request.lock_id, now) != nullptr) return EndShare(op, state, now);
  // The lock was free for a share that was first, and has not come.
  if (MayPassOn(state, now)) state.RaiseVersion();
  PassOn(state, now);
}

bool MayLeave(const WriteOp& op, const LockState& state, TimePoint now) noexcept {
  return state.IsHeldBy(op.request.lock_id) || HasEntry(state, op.request.lock_id) ||
         state.LiveShare(op.request.lock_id, now) != nullptr;
}

bool IsByItsHolder(const WriteOp& op, const LockState& state, TimePoint now) noexcept {
  if (op.request.write == WriteKind::kLeave) return MayLeave(op, state, now);
  if (op.request.mode == LockMode::kShared)
    return state.LiveShare(op.request.lock_id, now) != nullptr;
  return state.IsHeldBy(op.request.lock_id) &&
         (op.request.expected == kAnyVersion || op.request.expected == state.version);
}

bool IsExpected(const SaveOp& op, const LockState& state) noexcept {
  if (op.request.expected == kAnyVersion) return true;
  return op.request.expected == state.version && op.request.born == state.born;
}

Refusal Conflict(const LockState& state) {
  Refusal conflict{OpStatus::kConflict, std::make_unique<OpDetail>()};
  conflict.detail->found_version = state.version;
  return conflict;
}

}  // namespace

bool MayRenew(const RenewOp& op, const LockState& state, TimePoint now) noexcept {
  if (op.request.mode == LockMode::kShared)
    return state.LiveShare(op.request.lock_id, now) != nullptr;
  return state.IsHeldBy(op.request.lock_id) && state.IsLive(now);
}

void Renew(RenewOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  const bool live = MayRenew(op, state, now);
  op.status = live ? OpStatus::kDone : OpStatus::kLost;
  if (!live) return;
  if (op.request.mode == LockMode::kShared) return RenewShare(op, state, now, instance);
  RenewLease(op, state.lease, now, instance);
}

std::optional<Refusal> WhyNotWrite(const WriteOp& op, const LockState& state, TimePoint now) {
  if (IsByItsHolder(op, state, now)) return {};
  return Refusal{OpStatus::kLost};
}

void Write(WriteOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  state.passed_on = {};
  if (op.request.mode == LockMode::kShared) {
    EndShare(op, state, now);
  } else if (op.request.write == WriteKind::kRelease) {
    Release(op, state, now, instance);
  } else if (op.request.write == WriteKind::kLeave) {
    Leave(op, state, now);
  } else {
    state.RaiseVersion();
    if (op.request.write == WriteKind::kCheckpoint) {
      state.lease = {now, op.request.ttl, state.lease.instance == 0 ? 0 : instance};
    }
  }
  op.result.version = state.version;
  op.status = OpStatus::kDone;
}

std::optional<Refusal> WhyNotSave(const SaveOp& op, const LockState* state, TimePoint now) {
  const bool inserts = op.request.save == SaveKind::kInsert;
  if (state == nullptr) return inserts ? std::nullopt : std::optional(Refusal{OpStatus::kMissing});
  if (inserts) return Conflict(*state);
  if (op.request.Writes() && state->IsLive(now)) return BusyByLease(*state, now);
  if (!IsExpected(op, *state)) return Conflict(*state);
  return {};
}

bool Save(SaveOp& op, LockState& state, TimePoint now) {
  const bool had_lock = state.HasLockId();
  state.passed_on = {};
  state.RaiseVersion();
  op.result.version = state.version;
  op.status = OpStatus::kDone;
  if (op.request.save == SaveKind::kInsert) op.result.born = state.born;
  state.shares.clear();
  state.lock_id = Uuid{};
  if (op.request.save != SaveKind::kErase) PassOn(state, now);
  state.released = op.request.write_id;
  return had_lock || state.passed_on.done;
}

void Purge(LockState& state) noexcept {
  state.shares.clear();
  state.lock_id = Uuid{};
  state.queue.clear();
  state.owner = nullptr;
}

}  // namespace doclock::rules
