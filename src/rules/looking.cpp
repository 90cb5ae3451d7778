#include "rules/rules.h"

#include <utility>

namespace doclock::rules {
namespace {

void SetAge(LockRow& row, TimePoint since, TimePoint now) {
  if (since < now) row.age = std::chrono::floor<std::chrono::milliseconds>(now - since);
}

void SetQueue(LockRow& row, const LockState& state, TimePoint now) {
  const QueueEntry* const first = FirstInQueue(state, now);
  if (first == nullptr) return;
  row.waiting = CountAhead(state, Uuid{}, now);
  if (first->owner) row.next = *first->owner;
}

LockRow UnheldRow(LockRow row, const LockState& state, TimePoint now) {
  row.ttl = state.lease.ttl;
  if (state.granted != TimePoint{}) SetAge(row, state.lease.End(), now);
  return row;
}

LockRow HeldRow(LockRow row, const Share& held, TimePoint now) {
  row.lock_id = held.id;
  if (held.fence > 0) row.fence = held.fence;
  row.ttl = held.lease.ttl;
  row.live = held.lease.IsLive(now);
  if (row.live) row.left = held.lease.Left(now);
  SetAge(row, held.granted, now);
  if (held.owner) row.holder = *held.owner;
  row.group = held.group;
  return row;
}

}  // namespace

void Read(ReadOp& op, const LockState& state, TimePoint now) {
  op.result.version = state.version;
  op.result.born = state.born;
  op.result.lock_id = state.lock_id;
  op.result.released = state.released;
  op.result.locked = state.IsLive(now);
  op.result.holder = state.HasLockId() ? state.Holder() : LockHolder{};
  op.result.remaining = op.result.locked ? state.lease.Left(now) : std::chrono::milliseconds{};
  op.status = OpStatus::kDone;
}

void AddRows(std::vector<LockRow>& rows, const LockRow& row, const LockState& state,
             const LockQuery& query, TimePoint now) {
  LockRow common = row;
  common.version = state.version;
  common.born = state.born;
  common.closed = state.IsClosed(now);
  SetQueue(common, state, now);
  const auto add = [&](const Share& held) {
    if (query.group.empty() || held.group == query.group)
      rows.push_back(HeldRow(common, held, now));
  };
  if (state.IsShared()) {
    common.mode = LockMode::kShared;
    for (const Share& share : state.shares) add(share);
  } else if (state.HasLockId()) {
    add({state.lock_id, state.granted, state.lease, state.owner, state.group, state.fence});
  } else if (query.unheld && query.group.empty()) {
    rows.push_back(UnheldRow(std::move(common), state, now));
  }
}

}  // namespace doclock::rules
