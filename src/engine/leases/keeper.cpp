#include "engine/leases/keeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/leases/lease_book.h"

namespace doclock::detail {
namespace {

/// Renewals per store call.
constexpr std::size_t kMaxRenewals = 1000;
/// Renewals may take one of this many lanes of the store.
constexpr int kLanesPerBatch = 4;

/// Must it still be renewed when its batch is sent? Not after a Detach or a release, and not at its
/// deadline: that would only delay others.
bool IsDue(const Lease& lease, TimePoint now) {
  const Phase phase = lease.phase();
  return (phase == Phase::kHeld || phase == Phase::kWriting) && lease.renews() && !lease.lost() &&
         now < lease.deadline();
}

/// Between attempts at a renewal that fail.
std::chrono::nanoseconds Pause(const Lease& lease) noexcept {
  return std::max<std::chrono::nanoseconds>(lease.length() / 12, std::chrono::milliseconds(5));
}

}  // namespace

/// One batch of renewals under way. The operations refer to the leases' keys.
struct Keeper::RenewalBatch {
  struct Item {
    LeasePtr lease;
    RenewOp op;
  };
  TimePoint sent;
  std::vector<Item> items;
};

/// The leases that are due.
struct Keeper::DueLeases {
  std::vector<LeasePtr> over, renew;
};

Keeper::~Keeper() = default;  // Close has emptied the queue

void Keeper::Queue(Lease& lease, TimePoint due, bool for_renewal) noexcept {
  lease.due = due;
  lease.due_for_renewal = for_renewal;
  intrusive_ptr_add_ref(&lease);  // the queue's own
  queue_.insert(lease);
  Arm(due);
}

TimePoint Keeper::DueOf(const Lease& lease) const noexcept {
  if (lease.on_probation()) {
    // A short hold needs no renewal. A lease that is not renewed gets its whole length at once.
    return lease.keeps_renewing() ? lease.deadline() - lease.length() / 2 : book_.calls().Now();
  }
  // The deadline lies about one ttl after the last grant or renewal was sent.
  return lease.renews() ? lease.deadline() - lease.ttl() * 2 / 3 : lease.deadline();
}

void Keeper::QueueHealthy(Lease& lease) noexcept { Queue(lease, DueOf(lease), lease.renews()); }

bool Keeper::Unqueue(Lease& lease) noexcept {
  if (!lease.is_linked()) return false;
  queue_.erase(queue_.iterator_to(lease));
  intrusive_ptr_release(&lease);  // never the last one: the caller has another
  return true;
}

void Keeper::Add(Lease& lease) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!closed_) QueueHealthy(lease);
}

void Keeper::Arm(TimePoint when) noexcept {
  if (when >= armed_) return;
  const auto timer = book_.calls().runtime().Schedule(
      when, [weak = weak_from_this(), book = book_.weak_from_this()] {
        const auto alive = book.lock();
        if (const auto self = weak.lock(); self && alive) self->OnTimer();
      });
  book_.calls().runtime().Cancel(std::exchange(timer_, timer));
  armed_ = when;
}

void Keeper::Remove(Lease& lease) noexcept {
  const std::scoped_lock lock(mutex_);
  Unqueue(lease);
}

void Keeper::Refresh(Lease& lease) noexcept {
  const std::scoped_lock lock(mutex_);
  if (Unqueue(lease)) QueueHealthy(lease);
}

void Keeper::TakeDue(DueLeases& due_leases, TimePoint now) {
  while (!queue_.empty()) {
    Lease& first = *queue_.begin();
    // A slightly early renewal is better than another call.
    const auto slack = first.due_for_renewal ? first.length() / 12 : std::chrono::milliseconds(0);
    if (first.due - slack > now) return;
    const LeasePtr lease(&first);
    if (now >= first.deadline()) {
      due_leases.over.push_back(lease);
      Unqueue(first);
      continue;
    }
    // It stays in the queue until the answer comes: a call that hangs must not hide the deadline.
    if (first.due_for_renewal && first.renews()) due_leases.renew.push_back(lease);
    Unqueue(first);
    Queue(first, first.deadline(), false);
  }
}

void Keeper::OnTimer() noexcept {
  DueLeases due_leases;
  const TimePoint now = book_.calls().Now();
  {
    const std::scoped_lock lock(mutex_);
    armed_ = TimePoint::max();
    timer_ = 0;
    TakeDue(due_leases, now);
    if (!queue_.empty()) Arm(std::max(queue_.begin()->due, now));
  }
  for (const auto& lease : due_leases.over) book_.Lose(*lease);
  const std::span<LeasePtr> all(due_leases.renew);
  for (std::size_t i = 0; i < all.size(); i += kMaxRenewals) {
    Renew(all.subspan(i, std::min(kMaxRenewals, all.size() - i)));
  }
  SendNext();
}

void Keeper::Renew(std::span<LeasePtr> due) noexcept {
  RenewalBatches one;
  one.push_back(std::make_shared<RenewalBatch>());
  one.front()->items.reserve(due.size());
  for (auto& lease : due) {
    RenewOp op(*lease->collection, lease->key);
    op.request.lock_id = lease->lock_id;
    op.request.ttl = lease->ttl();
    op.request.mode = lease->mode;
    op.request.keep_process = true;  // it may arrive after a Detach, and must not undo it
    one.front()->items.push_back({std::move(lease), std::move(op)});
  }
  const std::scoped_lock lock(mutex_);
  if (!closed_) waiting_.splice(waiting_.end(), one);
}

void Keeper::SendNext() noexcept {
  const int lanes = book_.calls().store().traits().lanes;
  // One batch that hangs is not to hold up all others.
  const int most = std::max(std::min(lanes, 2), lanes / kLanesPerBatch);
  for (;;) {
    RenewalBatches next;
    {
      const std::scoped_lock lock(mutex_);
      if (closed_ || waiting_.empty() || under_way_ >= most) return;
      next.splice(next.end(), waiting_, waiting_.begin());
      ++under_way_;
    }
    const std::shared_ptr<RenewalBatch>& batch = next.front();
    const TimePoint now = book_.calls().Now();
    std::erase_if(batch->items, [&](const auto& item) { return !IsDue(*item.lease, now); });
    if (batch->items.empty()) {
      OnSent();
      continue;
    }
    batch->sent = now;
    Send(batch);
  }
}

void Keeper::Send(const std::shared_ptr<RenewalBatch>& batch) noexcept {
  std::vector<StoreOp*> ops;
  ops.reserve(batch->items.size());
  for (auto& item : batch->items) ops.push_back(&item.op);
  book_.calls().batcher().SubmitRenewals(
      std::move(ops), [self = shared_from_this(), batch, book = book_.shared_from_this()] {
        self->OnSent();
        self->SendNext();
        self->OnRenewed(*batch);
      });
}

void Keeper::OnSent() noexcept {
  const std::scoped_lock lock(mutex_);
  --under_way_;
}

void Keeper::OnRenewed(RenewalBatch& batch) noexcept {
  for (auto& [lease, op] : batch.items) {
    const Phase phase = lease->phase();
    if (phase != Phase::kHeld && phase != Phase::kWriting) continue;
    switch (op.status) {
      case OpStatus::kDone:
        if (book_.Prolong(*lease, batch.sent, op.request.ttl)) book_.events().Renewed(*lease);
        break;
      case OpStatus::kLost:
      case OpStatus::kMissing:
        // A release that was faster leaves the same trace; then the phase says so.
        if (lease->phase() == Phase::kHeld) book_.Lose(*lease);
        break;
      case OpStatus::kInDoubt:
        lease->NoteStoredUntil(book_.calls().Now() + op.request.ttl);
        if (lease->lost()) {  // it may have been renewed, and no handle uses it
          book_.GiveBack(*lease, book_.calls().Now() + op.request.ttl);
          break;
        }
        [[fallthrough]];
      default:
        RetryLater(*lease);
    }
  }
}

void Keeper::RetryLater(Lease& lease) noexcept {
  const TimePoint now = book_.calls().Now();
  const TimePoint deadline = lease.deadline();
  if (lease.lost() || now >= deadline) return;  // there is no later: the queue has its deadline
  book_.events().RenewalFailing(lease, deadline - now);
  const TimePoint due = std::min(now + Pause(lease), deadline);
  const std::scoped_lock lock(mutex_);
  if (Unqueue(lease)) Queue(lease, due, due < deadline);
}

void Keeper::StopRenewing() noexcept { LoseAll(/*writing=*/false); }

void Keeper::Close() noexcept { LoseAll(/*writing=*/true); }

void Keeper::LoseAll(bool writing) noexcept {
  RenewalBatches unsent;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    unsent.swap(waiting_);
  }
  while (const LeasePtr lease = TakeOne(writing)) book_.Lose(*lease);
}

LeasePtr Keeper::TakeOne(bool writing) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(queue_.begin(), queue_.end(), [&](const Lease& lease) {
    return writing || lease.phase() != Phase::kWriting;
  });
  if (found == queue_.end()) return nullptr;
  LeasePtr lease(&*found);
  Unqueue(*lease);
  return lease;
}

}  // namespace doclock::detail
