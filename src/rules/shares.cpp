#include "rules/shares.h"

#include <algorithm>
#include <utility>

#include "rules/acquire.h"
#include "rules/fault.h"
#include "rules/holder.h"
#include "rules/queue.h"

namespace doclock::rules {
namespace {

struct LiveShares {
  int count = 0;
  TimePoint first_end = TimePoint::max();
};

LiveShares Count(const LockState& state, TimePoint now) noexcept {
  LiveShares live;
  if (!state.IsShared()) return live;
  for (const Share& share : state.shares) {
    if (!share.lease.IsLive(now)) continue;
    ++live.count;
    live.first_end = std::min(live.first_end, share.lease.End());
  }
  return live;
}

void CoverWith(LockState& state, const Share& share) {
  state.lease = share.lease;
  state.granted = share.granted;
  state.owner = share.owner;
}

Share* FindLive(LockState& state, const Uuid& id, TimePoint now) noexcept {
  return const_cast<Share*>(std::as_const(state).LiveShare(id, now));
}

/// Busy until `end`, or until min_hold is over if that is later.
Refusal BusyUntil(const LockState& state, TimePoint end, TimePoint now) {
  Refusal busy = Busy(state, now);
  busy.detail->remaining = RoundUp(std::max(end, state.closed_until) - now);
  return busy;
}

/// A live share has the id of this attempt already.
Refusal SharedAlready() {
  Refusal refused{OpStatus::kFailed, std::make_unique<OpDetail>()};
  refused.detail->code = Errc::kRefused;
  refused.detail->message = kShareExistsText;
  return refused;
}

}  // namespace

std::optional<Refusal> WhyNotShare(const AcquireOp& op, const LockState& state, TimePoint now) {
  const LiveShares live = Count(state, now);
  const BeforeShare before = FindBefore(state, op.request.grant.lock_id, now);
  if (!state.IsShared() && state.IsLive(now)) return Busy(state, now);
  if (live.count + before.shares >= op.request.grant.max_holders) {
    return BusyUntil(state, std::min(live.first_end, before.first_share_ends), now);
  }
  if (before.writers) return BusyUntil(state, before.last_writer_ends, now);
  if (state.IsClosed(now)) return BusyUntil(state, state.closed_until, now);
  if (state.LiveShare(op.request.grant.lock_id, now) != nullptr) return SharedAlready();
  return {};
}

const Share& LastToEnd(const std::vector<Share>& shares) noexcept {
  return *std::max_element(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return std::pair(a.lease.End(), a.fence) < std::pair(b.lease.End(), b.fence);
  });
}

void Cover(LockState& state, TimePoint now) {
  if (state.shares.empty()) return state.lease.Expire(now);
  CoverWith(state, LastToEnd(state.shares));
}

void GrantShare(LockState& state, const GrantRequest& grant, TimePoint now, std::int64_t instance) {
  std::vector<Share>& shares = state.shares;
  Share granted{grant.lock_id, now, LeaseOf(grant, now, instance), grant.owner, grant.group, 0};
  shares.reserve(shares.size() + 1);  // may throw: before the rest
  std::erase_if(shares, [&](const Share& share) { return !share.lease.IsLive(now); });
  state.RaiseVersion();
  granted.fence = state.version;
  shares.push_back(std::move(granted));
  state.lock_id = kSharedLockId;
  if (grant.min_hold.count() > 0) {
    state.closed_until = std::max(state.closed_until, now + grant.min_hold);
  }
  const Share& added = shares.back();
  if (shares.size() == 1 || added.lease.End() >= state.lease.End()) CoverWith(state, added);
  if (!state.queue.empty()) RemoveEntry(state, grant.lock_id);
}

void RenewShare(RenewOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  Share* const share = FindLive(state, op.request.lock_id, now);
  if (share == nullptr) {
    op.status = OpStatus::kLost;
    return;
  }
  const TimePoint end = share->lease.End();
  RenewLease(op, share->lease, now, instance);
  if (share->lease.End() > state.lease.End()) {
    CoverWith(state, *share);
  } else if (share->lease.End() < end || share->lease.End() == state.lease.End()) {
    Cover(state, now);
  }
  op.status = OpStatus::kDone;
}

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

}  // namespace doclock::rules
