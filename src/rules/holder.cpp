#include "rules/holder.h"

#include "rules/acquire.h"
#include "rules/shares.h"

namespace doclock::rules {
namespace {

/// The lock is gone; `mark` says by whose doing. An intent stays.
void Release(const WriteOp& op, LockState& state, TimePoint now) {
  state.lock_id = Uuid{};
  state.released = MarkOf(op);
  if (op.next != nullptr) Grant(state, *op.next, now);
}

}  // namespace

bool MayRenew(const RenewOp& op, const LockState& state, TimePoint now) noexcept {
  if (op.mode == LockMode::kShared) return state.LiveShare(op.lock_id, now) != nullptr;
  return state.IsHeldBy(op.lock_id) && state.IsLive(now);
}

void Renew(RenewOp& op, LockState& state, TimePoint now) {
  if (op.mode == LockMode::kShared) return RenewShare(op, state, now);
  if (!MayRenew(op, state, now)) {
    op.status = OpStatus::kLost;
    return;
  }
  state.lease.Renew(op.ttl, now);
  op.status = OpStatus::kDone;
}

bool MayWrite(WriteOp& op, const LockState& state, TimePoint now) {
  const bool mine = op.mode == LockMode::kShared
                        ? state.LiveShare(op.lock_id, now) != nullptr
                        : state.IsHeldBy(op.lock_id) &&
                              (op.expected == kAnyVersion || op.expected == state.version);
  if (!mine) op.status = OpStatus::kLost;
  return mine;
}

void Write(WriteOp& op, LockState& state, TimePoint now) {
  const bool shared = op.mode == LockMode::kShared;
  if (!shared || op.body) ++state.version;
  op.version = state.version;
  op.status = OpStatus::kDone;
  if (shared) {
    EndShare(state, op.lock_id, MarkOf(op), now);
  } else if (op.write == WriteKind::kRelease) {
    Release(op, state, now);
  } else if (op.write == WriteKind::kCheckpoint) {
    state.lease = {now, op.ttl};
  }
}

}  // namespace doclock::rules
