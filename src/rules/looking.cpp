#include "rules/looking.h"

#include <utility>

#include "rules/queue.h"

namespace doclock::rules {
namespace {

void SetAge(LockRow& row, TimePoint since, TimePoint now) {
  if (since < now) row.age = std::chrono::floor<std::chrono::milliseconds>(now - since);
}

void SetLease(LockRow& row, const Lease& lease, TimePoint now) {
  row.ttl = lease.ttl;
  row.live = lease.IsLive(now);
  if (row.live) row.left = lease.Left(now);
}

void SetQueue(LockRow& row, const LockState& state, TimePoint now) {
  const QueueEntry* const first = FirstInQueue(state, now);
  if (first == nullptr) return;
  row.waiting = CountWaiting(state, now);
  if (first->owner) row.next = *first->owner;
}

void SetFence(LockRow& row, std::int64_t fence) {
  if (fence > 0) row.fence = fence;
}

LockRow UnheldRow(LockRow row, const LockState& state, TimePoint now) {
  row.ttl = state.lease.ttl;
  if (state.granted != TimePoint{}) SetAge(row, state.lease.End(), now);
  return row;
}

LockRow ExclusiveRow(LockRow row, const LockState& state, TimePoint now) {
  row.lock_id = state.lock_id;
  SetFence(row, state.fence);
  SetLease(row, state.lease, now);
  SetAge(row, state.granted, now);
  row.holder = state.Holder();
  row.group = state.group;
  return row;
}

LockRow ShareRow(LockRow row, const Share& share, TimePoint now) {
  row.mode = LockMode::kShared;
  row.lock_id = share.id;
  SetFence(row, share.fence);
  SetLease(row, share.lease, now);
  SetAge(row, share.granted, now);
  if (share.owner) row.holder = *share.owner;
  row.group = share.group;
  return row;
}

bool IsAskedFor(const std::string& group, const LockQuery& query) {
  return query.group.empty() || group == query.group;
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
  if (!state.HasLockId()) {
    if (query.unheld && query.group.empty()) {
      rows.push_back(UnheldRow(std::move(common), state, now));
    }
  } else if (!state.IsShared()) {
    if (IsAskedFor(state.group, query)) {
      rows.push_back(ExclusiveRow(std::move(common), state, now));
    }
  } else {
    for (const Share& share : state.shares) {
      if (IsAskedFor(share.group, query)) rows.push_back(ShareRow(common, share, now));
    }
  }
}

}  // namespace doclock::rules
