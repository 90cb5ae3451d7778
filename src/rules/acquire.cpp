#include "rules/acquire.h"

#include <algorithm>
#include <memory>

#include "rules/queue.h"
#include "rules/shares.h"

namespace doclock::rules {

namespace {

/// Is another waiter's live entry first?
bool IsBehindOthers(const AcquireOp& op, const LockState& state, TimePoint now) noexcept {
  if (state.queue.empty()) return false;
  const QueueEntry* const first = FirstInQueue(state, now);
  return first != nullptr && first->id != op.request.grant.lock_id;
}

/// The lock is free, but it is the turn of another's entry. A share takes its turn itself: if it
/// does not come, the lock is to be had when its entry is over.
Refusal BusyByFirst(const LockState& state, TimePoint now) {
  Refusal busy{OpStatus::kBusy, std::make_unique<OpDetail>()};
  if (!MayPassOn(state, now)) {
    busy.detail->remaining = RoundUp(FirstInQueue(state, now)->until - now);
  }
  return busy;
}

/// A lock that its last holder did not pass on goes to the first of the queue.
void HelpFirst(const AcquireOp& op, LockState& state, TimePoint now) {
  if (!IsBehindOthers(op, state, now) || !MayPassOn(state, now)) return;
  state.RaiseVersion();
  PassOn(state, now);
}

/// The lock, or a share of it, is the attempt's. Nothing changes. A share has the fence of its own
/// grant: others may have been granted since.
void SetHeldAlready(AcquireOp& op, const LockState& state, TimePoint now) {
  const Share* const share = state.LiveShare(op.request.grant.lock_id, now);
  op.result.version = share != nullptr && share->fence > 0 ? share->fence : state.version;
  op.result.passed_on = true;
}

void GrantTo(AcquireOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  const bool shared = op.request.grant.mode == LockMode::kShared;
  op.result.took_over = state.HasLockId() && !(shared && state.IsShared());
  shared ? GrantShare(state, op.request.grant, now, instance)
         : Grant(state, op.request.grant, now, instance);
  op.result.version = state.version;
}

}  // namespace

void Grant(LockState& state, const GrantRequest& grant, TimePoint now, std::int64_t instance) {
  if (state.group != grant.group) state.group = grant.group;  // may throw: before the rest
  state.RaiseVersion();
  state.lock_id = grant.lock_id;
  state.lease = LeaseOf(grant, now, instance);
  state.granted = now;
  state.fence = state.version;
  if (state.owner != grant.owner) state.owner = grant.owner;
  if (grant.min_hold.count() > 0) {
    state.closed_until = std::max(state.closed_until, now + grant.min_hold);
  }
  state.shares.clear();
  if (!state.queue.empty()) RemoveEntry(state, grant.lock_id);
}

bool HoldsAlready(const AcquireOp& op, const LockState& state, TimePoint now) noexcept {
  if (op.request.grant.queue_for.count() == 0) return false;
  if (op.request.grant.mode == LockMode::kShared)
    return state.LiveShare(op.request.grant.lock_id, now) != nullptr;
  return state.IsHeldBy(op.request.grant.lock_id) && state.IsLive(now);
}

std::optional<Refusal> WhyNotAcquire(const AcquireOp& op, const LockState& state, TimePoint now) {
  if (HoldsAlready(op, state, now)) return {};
  if (op.request.grant.mode == LockMode::kShared) return WhyNotShare(op, state, now);
  if (!state.IsFree(now)) return Busy(state, now);
  if (IsBehindOthers(op, state, now)) return BusyByFirst(state, now);
  return {};
}

void Acquire(AcquireOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  state.passed_on = {};
  HelpFirst(op, state, now);
  if (Settle(op, WhyNotAcquire(op, state, now))) {
    if (op.status != OpStatus::kBusy) return;
    return Enqueue(op, state, now, instance);
  }
  HoldsAlready(op, state, now) ? SetHeldAlready(op, state, now) : GrantTo(op, state, now, instance);
  op.result.born = state.born;
  op.status = OpStatus::kDone;
}

void AcquireNew(AcquireOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  const bool shared = op.request.grant.mode == LockMode::kShared;
  shared ? GrantShare(state, op.request.grant, now, instance)
         : Grant(state, op.request.grant, now, instance);
  op.result.version = state.version;
  op.result.born = state.born = op.request.grant.lock_id;
  op.result.created = true;
  op.status = OpStatus::kDone;
}

}  // namespace doclock::rules
