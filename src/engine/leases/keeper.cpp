#include "engine/leases/keeper.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/procedures/background_release.h"
#include "engine/runtime/insist.h"

namespace doclock::detail {
namespace {

/// Renewals per store call.
constexpr std::size_t kMaxRenewals = 1000;
/// Renewals may take one of this many lanes of the store.
constexpr int kLanesPerBatch = 4;
/// How soon it tries again what it had no memory for.
constexpr std::chrono::milliseconds kNoMemory{5};

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
  std::vector<LeasePtr> over, renew, abandoned;
};

Keeper::~Keeper() = default;  // Close has emptied the queue

bool Keeper::Queue(Lease& lease, TimePoint due, bool for_renewal) noexcept {
  lease.due = due;
  lease.due_for_renewal = for_renewal;
  intrusive_ptr_add_ref(&lease);  // the queue's own
  queue_.insert(lease);
  return Arm(due);
}

TimePoint Keeper::DueOf(const Lease& lease) const noexcept {
  if (lease.on_probation()) {
    // A short hold needs no renewal. A lease that is not renewed gets its whole length at once.
    return lease.keeps_renewing() ? lease.deadline() - lease.length() / 2 : engine_.Now();
  }
  // The deadline lies about one ttl after the last grant or renewal was sent.
  const bool soon = lease.renews() || lease.abandoned;
  return soon ? lease.deadline() - lease.ttl() * 2 / 3 : lease.deadline();
}

bool Keeper::QueueHealthy(Lease& lease) noexcept {
  return Queue(lease, DueOf(lease), lease.renews());
}

bool Keeper::Unqueue(Lease& lease) noexcept {
  if (!lease.is_linked()) return false;
  queue_.erase(queue_.iterator_to(lease));
  intrusive_ptr_release(&lease);  // never the last one: the caller has another
  return true;
}

void Keeper::Add(Lease& lease) {
  const std::scoped_lock lock(mutex_);
  if (closed_ || QueueHealthy(lease)) return;
  Unqueue(lease);  // no handle gets this lock, so it must not be renewed
  throw std::bad_alloc();
}

bool Keeper::Arm(TimePoint when) noexcept {
  if (when >= armed_) return true;
  // Without a timer the next lease that is queued sets one; until then the clock alone tells
  // holders that a lease is over.
  return Insist([&] {
    const auto timer = engine_.runtime().Schedule(
        when, [weak = weak_from_this(), engine = engine_.weak_from_this()] {
          const auto alive = engine.lock();
          if (const auto self = weak.lock(); self && alive) self->OnTimer();
        });
    engine_.runtime().Cancel(std::exchange(timer_, timer));
    armed_ = when;
  });
}

void Keeper::Remove(Lease& lease) noexcept {
  const std::scoped_lock lock(mutex_);
  Unqueue(lease);
}

void Keeper::Refresh(Lease& lease) noexcept {
  const std::scoped_lock lock(mutex_);
  if (Unqueue(lease)) QueueHealthy(lease);
}

void Keeper::Abandoned(Lease& lease) noexcept {
  lease.StopRenewing();
  const std::scoped_lock lock(mutex_);
  lease.abandoned = true;
}

void Keeper::TakeDue(DueLeases& due_leases, TimePoint now) {
  while (!queue_.empty()) {
    Lease& first = *queue_.begin();
    // A slightly early renewal is better than another call.
    const auto slack = first.due_for_renewal ? first.length() / 12 : std::chrono::milliseconds(0);
    if (first.due - slack > now) return;
    const LeasePtr lease(&first);
    TimePoint next = first.deadline();
    if (now >= next) {
      due_leases.over.push_back(lease);
      Unqueue(first);
      continue;
    }
    if (first.abandoned) {
      due_leases.abandoned.push_back(lease);
      next = std::min(next, now + Pause(first));
    } else if (first.due_for_renewal && first.renews()) {
      // It stays in the queue until the answer comes: a call that hangs must not hide the deadline.
      due_leases.renew.push_back(lease);
    }
    Unqueue(first);
    Queue(first, next, false);
  }
}

void Keeper::OnTimer() noexcept {
  DueLeases due_leases;
  const TimePoint now = engine_.Now();
  {
    const std::scoped_lock lock(mutex_);
    armed_ = TimePoint::max();
    timer_ = 0;
    TimePoint earliest = now;
    try {
      TakeDue(due_leases, now);
    } catch (const std::bad_alloc&) {
      earliest += kNoMemory;  // the rest is taken then
    }
    if (!queue_.empty()) Arm(std::max(queue_.begin()->due, earliest));
  }
  for (const auto& lease : due_leases.over) engine_.Lose(*lease);
  for (auto& lease : due_leases.abandoned) Abandon(std::move(lease));
  const std::span<LeasePtr> all(due_leases.renew);
  for (std::size_t i = 0; i < all.size(); i += kMaxRenewals) {
    Renew(all.subspan(i, std::min(kMaxRenewals, all.size() - i)));
  }
  SendNext();
}

void Keeper::Renew(std::span<LeasePtr> due) noexcept {
  RenewalBatches one;
  try {
    one.push_back(std::make_shared<RenewalBatch>());
    one.front()->items.reserve(due.size());
  } catch (const std::bad_alloc&) {
    for (const auto& lease : due) RetryLater(*lease);
    return;
  }
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
  const int lanes = engine_.store().traits().lanes;
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
    const TimePoint now = engine_.Now();
    std::erase_if(batch->items, [&](const auto& item) { return !IsDue(*item.lease, now); });
    if (batch->items.empty()) {
      OnSent();
      continue;
    }
    batch->sent = now;
    try {
      Send(batch);
    } catch (...) {  // out of memory, or a Runtime that throws
      OnSent();
      for (const auto& item : batch->items) RetryLater(*item.lease);
    }
  }
}

void Keeper::Send(const std::shared_ptr<RenewalBatch>& batch) {
  std::vector<StoreOp*> ops;
  ops.reserve(batch->items.size());
  for (auto& item : batch->items) ops.push_back(&item.op);
  engine_.batcher().SubmitRenewals(
      std::move(ops), [self = shared_from_this(), batch, engine = engine_.shared_from_this()] {
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
        if (engine_.Prolong(*lease, batch.sent, op.request.ttl)) engine_.events().Renewed(*lease);
        break;
      case OpStatus::kLost:
      case OpStatus::kMissing:
        // A release that was faster leaves the same trace; then the phase says so.
        if (lease->phase() == Phase::kHeld) engine_.Lose(*lease);
        break;
      case OpStatus::kInDoubt:
        lease->NoteStoredUntil(engine_.Now() + op.request.ttl);
        if (lease->lost()) {  // it may have been renewed, and no handle uses it
          ReleaseInBackground(*lease, engine_.Now() + op.request.ttl);
          break;
        }
        [[fallthrough]];
      default:
        RetryLater(*lease);
    }
  }
}

void Keeper::RetryLater(Lease& lease) noexcept {
  const TimePoint now = engine_.Now();
  const TimePoint deadline = lease.deadline();
  if (lease.lost() || now >= deadline) return;  // there is no later: the queue has its deadline
  engine_.events().RenewalFailing(lease, deadline - now);
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
  while (const LeasePtr lease = TakeOne(writing)) engine_.Lose(*lease);
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
