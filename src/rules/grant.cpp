// The queue, and who is granted a lock or a share.

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "rules/fault.h"
#include "rules/rules.h"

namespace doclock::rules {

const Share* LockState::LiveShare(const Uuid& id, TimePoint now) const noexcept {
  if (!IsShared()) return nullptr;
  // From the youngest on, which mostly goes first.
  const auto found = std::find_if(shares.rbegin(), shares.rend(),
                                  [&](const Share& share) { return share.id == id; });
  return found != shares.rend() && found->lease.IsLive(now) ? &*found : nullptr;
}

Refusal BusyByLease(const LockState& state, TimePoint now) {
  Refusal busy{OpStatus::kBusy, std::make_unique<OpDetail>()};
  busy.detail->holder = state.Holder();
  busy.detail->remaining = state.lease.Left(now);
  return busy;
}

const QueueEntry* FirstInQueue(const LockState& state, TimePoint now) noexcept {
  const auto first = std::find_if(state.queue.begin(), state.queue.end(),
                                  [&](const QueueEntry& entry) { return entry.IsLive(now); });
  return first == state.queue.end() ? nullptr : &*first;
}

int CountAhead(const LockState& state, const Uuid& id, TimePoint now) noexcept {
  int ahead = 0;
  for (const QueueEntry& entry : state.queue) {
    if (entry.id == id) break;
    if (entry.IsLive(now)) ++ahead;
  }
  return ahead;
}

bool HasEntry(const LockState& state, const Uuid& id) noexcept {
  return std::any_of(state.queue.begin(), state.queue.end(),
                     [&](const QueueEntry& entry) { return entry.id == id; });
}

bool MayPassOn(const LockState& state, TimePoint now) noexcept {
  if (state.queue.empty() || !state.IsFree(now)) return false;
  const QueueEntry* const first = FirstInQueue(state, now);
  return first != nullptr && first->mode == LockMode::kExclusive;
}

namespace {

auto FindEntry(std::vector<QueueEntry>& queue, const Uuid& id) noexcept {
  return std::find_if(queue.begin(), queue.end(),
                      [&](const QueueEntry& entry) { return entry.id == id; });
}

void DropOver(LockState& state, TimePoint now) noexcept {
  std::erase_if(state.queue, [&](const QueueEntry& entry) { return !entry.IsLive(now); });
}

}  // namespace

void PassOn(LockState& state, TimePoint now) noexcept {
  if (!state.queue.empty()) DropOver(state, now);
  if (!MayPassOn(state, now)) return;
  QueueEntry& first = state.queue.front();
  state.lock_id = first.id;
  state.lease = {now, std::min(first.ttl, kProbation), first.detached ? 0 : first.instance};
  state.granted = now;
  state.fence = state.version;
  state.owner = std::move(first.owner);
  state.group = std::move(first.group);
  state.CloseFor(first.min_hold, now);
  state.shares.clear();
  state.passed_on = {.done = true, .detached = first.detached, .instance = first.instance};
  state.queue.erase(state.queue.begin());
}

void RemoveEntry(LockState& state, const Uuid& id) noexcept {
  const auto mine = FindEntry(state.queue, id);
  if (mine != state.queue.end()) state.queue.erase(mine);
}

void Grant(LockState& state, const GrantRequest& grant, TimePoint now, std::int64_t instance) {
  if (state.group != grant.group) state.group = grant.group;  // may throw: before the rest
  state.RaiseVersion();
  state.lock_id = grant.lock_id;
  state.lease = LeaseOf(grant, now, instance);
  state.granted = now;
  state.fence = state.version;
  if (state.owner != grant.owner) state.owner = grant.owner;
  state.CloseFor(grant.min_hold, now);
  state.shares.clear();
  if (!state.queue.empty()) RemoveEntry(state, grant.lock_id);
}

namespace {

/// A lock is not available now: names its holder, and the longer of its lease and min_hold.
Refusal Busy(const LockState& state, TimePoint now) {
  const bool live = state.IsLive(now);
  Refusal busy =
      live ? BusyByLease(state, now) : Refusal{OpStatus::kBusy, std::make_unique<OpDetail>()};
  busy.detail->kept_closed = !live && state.IsClosed(now);
  auto& remaining = busy.detail->remaining;
  remaining =
      std::max(remaining.value_or(std::chrono::milliseconds(0)), RoundUp(state.closed_until - now));
  return busy;
}

/// The live entries that a share may not pass.
struct BeforeShare {
  int shares = 0;
  TimePoint first_share_ends = TimePoint::max();
  bool writers = false;
  TimePoint last_writer_ends{};  ///< If there are writers.
};

/// The live entries before that of this id. All of them if it has no live one.
BeforeShare FindBefore(const LockState& state, const Uuid& id, TimePoint now) noexcept {
  BeforeShare before;
  for (const QueueEntry& entry : state.queue) {
    if (!entry.IsLive(now)) continue;
    if (entry.id == id) break;
    if (entry.mode == LockMode::kShared) {
      ++before.shares;
      before.first_share_ends = std::min(before.first_share_ends, entry.until);
    } else {
      before.writers = true;
      before.last_writer_ends = std::max(before.last_writer_ends, entry.until);
    }
  }
  return before;
}

QueueEntry EntryOf(const GrantRequest& grant, TimePoint now, std::int64_t instance) {
  return {.id = grant.lock_id,
          .until = now + grant.queue_for,
          .ttl = grant.ttl,
          .min_hold = grant.min_hold,
          .owner = grant.owner,
          .group = grant.group,
          .detached = grant.detached,
          .mode = grant.mode,
          .max_holders = grant.max_holders,
          .instance = instance};
}

/// Returns true if the entry is placed; false if the queue is full.
bool Place(std::vector<QueueEntry>& queue, QueueEntry entry) {
  const auto mine = FindEntry(queue, entry.id);
  if (mine != queue.end()) {
    *mine = std::move(entry);
  } else if (queue.size() < kMaxQueueEntries) {
    queue.push_back(std::move(entry));
  } else {
    return false;
  }
  return true;
}

/// Leaves or refreshes the entry of an attempt that is kBusy, if it asks for one, and
/// fills in `queued`, `ahead`, `version` and `born`. Drops the entries that are over. If it throws,
/// nothing has changed that counts.
void Enqueue(AcquireOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  DropOver(state, now);
  op.result.queued = op.request.grant.queue_for.count() > 0 &&
                     Place(state.queue, EntryOf(op.request.grant, now, instance));
  op.result.ahead = CountAhead(state, op.request.grant.lock_id, now);
  op.result.version = state.version;
  op.result.born = state.born;
}

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

/// WhyNotAcquire of a share.
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

/// Adds a share, at the next version, and drops those that are over. This removes its own entry
/// from the queue. If it throws, nothing has changed.
void GrantShare(LockState& state, const GrantRequest& grant, TimePoint now, std::int64_t instance) {
  std::vector<Share>& shares = state.shares;
  Share granted{grant.lock_id, now, LeaseOf(grant, now, instance), grant.owner, grant.group, 0};
  shares.reserve(shares.size() + 1);  // may throw: before the rest
  std::erase_if(shares, [&](const Share& share) { return !share.lease.IsLive(now); });
  state.RaiseVersion();
  granted.fence = state.version;
  shares.push_back(std::move(granted));
  state.lock_id = kSharedLockId;
  state.CloseFor(grant.min_hold, now);
  const Share& added = shares.back();
  if (shares.size() == 1 || added.lease.End() >= state.lease.End()) state.CoverWith(added);
  if (!state.queue.empty()) RemoveEntry(state, grant.lock_id);
}

/// Is another waiter's live entry first?
bool IsBehindOthers(const AcquireOp& op, const LockState& state, TimePoint now) noexcept {
  if (state.queue.empty()) return false;
  const QueueEntry* const first = FirstInQueue(state, now);
  return first != nullptr && first->id != op.request.grant.lock_id;
}

/// The lock is free, but it is the turn of another's entry. A share takes its turn itself: if it
/// does not come, the lock is available when its entry is over.
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
  GrantTo(op, state, now, instance);
  op.result.born = state.born = op.request.grant.lock_id;
  op.result.created = true;
  op.status = OpStatus::kDone;
}

}  // namespace doclock::rules
