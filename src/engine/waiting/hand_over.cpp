/// Releases of this process, and the waiters that they hand their locks to.

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "engine/waiting/wait_table.h"

namespace doclock::detail {
namespace {

/// The count of hand-overs stops here: where no other process can wait, they go on for ever.
constexpr int kMostCounted = UINT16_MAX;
/// How long local waiters stand back after `max_handovers` hand-overs in a row.
constexpr std::chrono::milliseconds kStandBack{2};

}  // namespace

WaitTable::Release WaitTable::BeginRelease(const Lease& lease, bool mark, bool may_hand_over) {
  const std::size_t hash = lease.key.Hash();
  Release release;
  release.table_ = this;
  release.collection_ = lease.collection;
  release.hash_ = hash;
  Shard& shard = ShardOf(hash);
  const Turns* const turns = lease.collection->turns();
  const bool adds = mark || turns != nullptr;
  if (!adds && shard.count.load(std::memory_order_acquire) == 0) return release;
  const std::scoped_lock lock(shard.mutex);
  release.waits_ = adds ? FindOrAddKey(shard, *lease.collection, lease.key, hash)
                        : FindKey(shard, *lease.collection, lease.key, hash);
  if (!release.waits_) return release;
  KeyWaits& waits = *release.waits_;
  if (mark) {
    release.marked_ = true;
    release.shared_ = lease.mode == LockMode::kShared;
    ++(release.shared_ ? waits.shares_releasing : waits.releasing);
  }
  if (turns != nullptr && waits.EndHold(lease)) return release;
  if (!may_hand_over || waits.asking > 0) return release;
  const PendingPtr next = waits.Front();
  if (!next || next->shared()) return release;
  if (turns != nullptr) {
    // What cannot be granted there is refused to the waiter itself, by its own attempt.
    const AcquireSpec& spec = next->spec;
    if (spec.min_hold.count() > 0 || !spec.group.empty() || !spec.insert) return release;
  } else if (lease.handovers >= calls_.options().max_handovers &&
             calls_.store().traits().others_may_wait) {
    // The store's queue has its own order.
    if (!calls_.store_has_queue()) waits.not_before = calls_.Now() + kStandBack;
    return release;
  }
  waits.Claim(*next);
  release.next_ = next;
  release.handovers_ = static_cast<std::uint16_t>(std::min(lease.handovers + 1, kMostCounted));
  return release;
}

WaitTable::Release& WaitTable::Release::operator=(Release&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(collection_, other.collection_);
  std::swap(hash_, other.hash_);
  std::swap(waits_, other.waits_);
  std::swap(next_, other.next_);
  std::swap(marked_, other.marked_);
  std::swap(shared_, other.shared_);
  std::swap(handovers_, other.handovers_);
  return *this;
}

WaitTable::Release::~Release() {
  if (!waits_) return;
  table_->EndRelease(*this, nullptr, true);
}

void WaitTable::EndRelease(Release& release, LeasePtr lease, bool released) noexcept {
  if (!release.waits_) {
    // Callers that came meanwhile may have found it busy.
    if (released && !lease) Wake(*release.collection_, release.hash_);
    return;
  }
  const KeyWaitsPtr waits = std::move(release.waits_);
  const PendingPtr next = std::move(release.next_);
  Shard& shard = ShardOf(waits->hash);
  Leavers left;
  QueueTicket ticket;
  bool ask = released && !lease;
  bool listed = true;
  {
    const std::scoped_lock lock(shard.mutex);
    listed = waits->listed;
    if (release.marked_) --(release.shared_ ? waits->shares_releasing : waits->releasing);
    if (next) {
      ask = std::exchange(waits->again, false) || ask;
      if (lease) {
        next->ticket = {};  // the hand-over has removed its entry
        left = LeaveGranted(waits, *next);
        lease->handovers = release.handovers_;
      } else {
        waits->Unclaim(*next);
        ticket = waits->TakeTicketOfLeaver(*next);
      }
    }
    ask = !lease && (ask || !waits->queue.empty());
    EraseIfIdle(shard, waits);
  }
  if (lease) {
    AcquireResult result;
    result.grant.body = lease->body;
    result.grant.created = next->IsMadeByIt(lease->born);
    result.grant.lease = std::move(lease);
    next->Settle(std::move(result), true);
    // The new holder is often put behind this thread on the same processor: let it begin.
    std::this_thread::yield();
  }
  if (next) LeaveStoreQueue(*next, ticket);
  left.Settle(nullptr);
  if (!ask) return;
  if (listed) return Pump(waits, true);
  // All waiters of this entry have left meanwhile; later ones wait in another entry.
  Wake(*release.collection_, release.hash_);
}

}  // namespace doclock::detail
