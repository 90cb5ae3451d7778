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
  return first != nullptr && first->id != op.grant.lock_id;
}

}  // namespace

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
  ++state.version;
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
  if (!state.queue.empty()) RemoveEntry(state, grant.lock_id);
}

bool HoldsAlready(const AcquireOp& op, const LockState& state, TimePoint now) noexcept {
  return op.grant.mode == LockMode::kExclusive && op.grant.queue_for.count() > 0 &&
         state.IsHeldBy(op.grant.lock_id) && state.IsLive(now);
}

bool MayAcquire(AcquireOp& op, const LockState& state, TimePoint now) {
  if (op.grant.mode == LockMode::kShared) return MayShare(op, state, now);
  if (HoldsAlready(op, state, now)) return true;
  if (!state.IsFree(now)) {
    TellBusy(op, state, now);
  } else if (IsBehindOthers(op, state, now)) {
    op.status = OpStatus::kBusy;
    op.detail = std::make_unique<OpDetail>();
  } else {
    return true;
  }
  op.queued = false;
  op.ahead = CountAhead(state, op.grant.lock_id, now);
  return false;
}

void Acquire(AcquireOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  state.passed_on = {};
  if (op.grant.mode == LockMode::kShared) return AcquireShare(op, state, now);
  if (state.IsFree(now) && IsBehindOthers(op, state, now)) {
    ++state.version;
    PassOn(state, now);
  }
  if (!MayAcquire(op, state, now)) {
    LeaveIntent(state, op.grant, now);
    return Enqueue(op, state, now, instance);
  }
  op.created = false;
  op.passed_on = HoldsAlready(op, state, now);
  op.took_over = !op.passed_on && state.HasLockId();
  if (!op.passed_on) Grant(state, op.grant, now);
  op.version = state.version;
  op.born = state.born;
  op.status = OpStatus::kDone;
}

void AcquireNew(AcquireOp& op, LockState& state, TimePoint now) {
  const bool shared = op.grant.mode == LockMode::kShared;
  shared ? GrantShare(state, op.grant, now) : Grant(state, op.grant, now);
  op.version = state.version;
  op.born = state.born = op.grant.lock_id;
  op.created = true;
  op.took_over = false;
  op.passed_on = false;
  op.status = OpStatus::kDone;
}

}  // namespace doclock::rules
