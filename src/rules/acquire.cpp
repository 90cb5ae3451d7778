#include "rules/acquire.h"

#include <algorithm>
#include <memory>

#include "rules/shares.h"

namespace doclock::rules {

void TellLease(StoreOp& op, const LockState& state, TimePoint now) {
  op.status = OpStatus::kBusy;
  op.detail = std::make_unique<OpDetail>();
  op.detail->holder = state.Holder();
  op.detail->remaining = state.lease.Left(now);
}

void TellBusy(StoreOp& op, const LockState& state, TimePoint now) {
  if (state.IsLive(now)) {
    TellLease(op, state, now);
    if (!state.IsClosed(now)) return;
  } else {
    op.status = OpStatus::kBusy;
    op.detail = std::make_unique<OpDetail>();
    if (state.IsClosed(now)) op.detail->message = "min_hold";
  }
  auto& remaining = op.detail->remaining;
  remaining =
      std::max(remaining.value_or(std::chrono::milliseconds(0)), RoundUp(state.closed_until - now));
}

void Grant(LockState& state, const GrantRequest& grant, TimePoint now) {
  if (state.group != grant.group) state.group = grant.group;  // may throw: before the rest
  state.lock_id = grant.lock_id;
  state.lease = {now, grant.ttl};
  state.granted = now;
  state.fence = state.version;
  if (state.owner != grant.owner) state.owner = grant.owner;
  if (grant.min_hold.count() > 0) {
    state.closed_until = std::max(state.closed_until, now + grant.min_hold);
  }
  state.shares.clear();
  state.intent = {};
}

bool MayAcquire(AcquireOp& op, const LockState& state, TimePoint now) {
  if (op.grant.mode == LockMode::kShared) return MayShare(op, state, now);
  const bool free = state.IsFree(now);
  if (!free) TellBusy(op, state, now);
  return free;
}

void Acquire(AcquireOp& op, LockState& state, TimePoint now) {
  if (op.grant.mode == LockMode::kShared) return AcquireShare(op, state, now);
  if (!MayAcquire(op, state, now)) return LeaveIntent(state, op.grant, now);
  op.created = false;
  op.took_over = state.HasLockId();
  op.version = ++state.version;
  Grant(state, op.grant, now);
  op.born = state.born;
  op.status = OpStatus::kDone;
}

void AcquireNew(AcquireOp& op, LockState& state, TimePoint now) {
  const bool shared = op.grant.mode == LockMode::kShared;
  op.version = state.version = 1;
  op.born = state.born = op.grant.lock_id;
  shared ? GrantShare(state, op.grant, now) : Grant(state, op.grant, now);
  op.created = true;
  op.took_over = false;
  op.status = OpStatus::kDone;
}

}  // namespace doclock::rules
