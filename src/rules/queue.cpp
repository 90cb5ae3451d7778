#include "rules/queue.h"

#include <algorithm>
#include <utility>

namespace doclock::rules {
namespace {

auto FindEntry(std::vector<QueueEntry>& queue, const Uuid& id) noexcept {
  return std::find_if(queue.begin(), queue.end(),
                      [&](const QueueEntry& entry) { return entry.id == id; });
}

void DropOver(LockState& state, TimePoint now) noexcept {
  std::erase_if(state.queue, [&](const QueueEntry& entry) { return !entry.IsLive(now); });
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

/// False: the queue is full.
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

}  // namespace

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

int CountWaiting(const LockState& state, TimePoint now) noexcept {
  return CountAhead(state, Uuid{}, now);
}

bool HasEntry(const LockState& state, const Uuid& id) noexcept {
  return std::any_of(state.queue.begin(), state.queue.end(),
                     [&](const QueueEntry& entry) { return entry.id == id; });
}

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

bool MayPassOn(const LockState& state, TimePoint now) noexcept {
  if (state.queue.empty() || !state.IsFree(now)) return false;
  const QueueEntry* const first = FirstInQueue(state, now);
  return first != nullptr && first->mode == LockMode::kExclusive;
}

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
  if (first.min_hold.count() > 0) {
    state.closed_until = std::max(state.closed_until, now + first.min_hold);
  }
  state.shares.clear();
  state.passed_on = {.done = true, .detached = first.detached, .instance = first.instance};
  state.queue.erase(state.queue.begin());
}

void Enqueue(AcquireOp& op, LockState& state, TimePoint now, std::int64_t instance) {
  DropOver(state, now);
  op.result.queued = op.request.grant.queue_for.count() > 0 &&
                     Place(state.queue, EntryOf(op.request.grant, now, instance));
  op.result.ahead = CountAhead(state, op.request.grant.lock_id, now);
  op.result.version = state.version;
  op.result.born = state.born;
}

void RemoveEntry(LockState& state, const Uuid& id) noexcept {
  const auto mine = FindEntry(state.queue, id);
  if (mine != state.queue.end()) state.queue.erase(mine);
}

}  // namespace doclock::rules
