#include "rules/holder.h"

#include "rules/acquire.h"
#include "rules/queue.h"
#include "rules/shares.h"

namespace doclock::rules {
namespace {

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

}  // namespace

bool MayRenew(const RenewOp& op, const LockState& state, TimePoint now) noexcept {
  if (op.request.mode == LockMode::kShared)
    return state.LiveShare(op.request.lock_id, now) != nullptr;
  return state.IsHeldBy(op.request.lock_id) && state.IsLive(now);
}

void Renew(RenewOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  if (op.request.mode == LockMode::kShared) return RenewShare(op, state, now, instance);
  if (!MayRenew(op, state, now)) {
    op.status = OpStatus::kLost;
    return;
  }
  RenewLease(op, state.lease, now, instance);
  op.status = OpStatus::kDone;
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

}  // namespace doclock::rules
