#include "engine/leases/keeper.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"
#include "engine/procedures/background_release.h"

namespace doclock::detail {
namespace {

/// Renewals per store call.
constexpr std::size_t kMaxRenewals = 1000;
/// Of so many lanes of the store one may be taken by renewals.
constexpr int kLanesPerRound = 4;

/// Is it still to be renewed when its round is sent? Not behind a Detach or a release, and not at
/// its deadline: that would only keep others waiting.
bool IsDue(const Lease& lease, TimePoint now) {
  const Phase phase = lease.phase();
  return (phase == Phase::kHeld || phase == Phase::kWriting) && lease.renews() && !lease.lost() &&
         now < lease.deadline();
}

}  // namespace

/// One batch of renewals under way. The operations refer to the leases' keys.
struct Keeper::Round {
  struct Item {
    LeasePtr lease;
    RenewOp op;
  };
  TimePoint sent;
  std::vector<Item> items;
};

Keeper::~Keeper() = default;  // Close has emptied the queue

void Keeper::Queue(Lease& lease, TimePoint due, bool for_renewal) {
  lease.due = due;
  lease.due_for_renewal = for_renewal;
  intrusive_ptr_add_ref(&lease);  // the queue's own
  queue_.insert(lease);
  Arm(due);
}

void Keeper::QueueHealthy(Lease& lease) {
  // The deadline lies about one ttl after the last grant or renewal was sent.
  const TimePoint due = lease.renews() ? lease.deadline() - lease.ttl() * 2 / 3 : lease.deadline();
  Queue(lease, due, lease.renews());
}

bool Keeper::Unqueue(Lease& lease) noexcept {
  if (!lease.is_linked()) return false;
  queue_.erase(queue_.iterator_to(lease));
  intrusive_ptr_release(&lease);  // never the last one: the caller has another
  return true;
}

void Keeper::Add(Lease& lease) {
  const std::scoped_lock lock(mutex_);
  if (closed_) return;
  try {
    QueueHealthy(lease);
  } catch (...) {
    Unqueue(lease);  // out of memory: no handle gets this lock, so it must not be renewed
    throw;
  }
}

void Keeper::Arm(TimePoint when) {
  if (when >= armed_) return;
  const auto former = timer_;
  timer_ = engine_.runtime().Schedule(when,
                                      [weak = weak_from_this(), engine = engine_.weak_from_this()] {
                                        const auto alive = engine.lock();
                                        if (const auto self = weak.lock(); self && alive)
                                          self->OnTimer();
                                      });
  armed_ = when;
  engine_.runtime().Cancel(former);
}

void Keeper::Remove(Lease& lease) noexcept {
  const std::scoped_lock lock(mutex_);
  Unqueue(lease);
}

void Keeper::Refresh(Lease& lease) {
  const std::scoped_lock lock(mutex_);
  if (Unqueue(lease)) QueueHealthy(lease);
}

void Keeper::OnTimer() {
  std::vector<LeasePtr> renew, over;
  const TimePoint now = engine_.Now();
  {
    const std::scoped_lock lock(mutex_);
    armed_ = TimePoint::max();
    timer_ = 0;
    while (!queue_.empty()) {
      Lease& first = *queue_.begin();
      // A renewal a little early is better than one call more.
      const auto slack = first.due_for_renewal ? first.ttl() / 12 : std::chrono::milliseconds(0);
      if (first.due - slack > now) break;
      LeasePtr lease(&first);
      Unqueue(first);
      if (now >= lease->deadline()) {
        over.push_back(std::move(lease));
      } else if (lease->due_for_renewal && lease->renews()) {
        // Stays in the queue until the answer comes: a call that hangs must not hide the deadline.
        Queue(*lease, lease->deadline(), false);
        renew.push_back(std::move(lease));
      } else {
        Queue(*lease, lease->deadline(), false);
      }
    }
    if (!queue_.empty()) Arm(queue_.begin()->due);
  }
  for (const auto& lease : over) engine_.Lose(*lease);
  const std::span<LeasePtr> all(renew);
  for (std::size_t i = 0; i < all.size(); i += kMaxRenewals) {
    Renew(all.subspan(i, std::min(kMaxRenewals, all.size() - i)));
  }
  SendNext();
}

void Keeper::Renew(std::span<LeasePtr> due) {
  const auto round = std::make_shared<Round>();
  round->items.reserve(due.size());
  for (auto& lease : due) {
    RenewOp op(*lease->collection, lease->key);
    op.lock_id = lease->lock_id;
    op.ttl = lease->ttl();
    op.mode = lease->mode;
    op.foreign = true;  // it may arrive behind a Detach, and must not undo it
    round->items.push_back({std::move(lease), std::move(op)});
  }
  const std::scoped_lock lock(mutex_);
  if (!closed_) waiting_.push_back(round);
}

void Keeper::SendNext() {
  const int most = std::max(1, engine_.store().traits().lanes / kLanesPerRound);
  for (;;) {
    std::shared_ptr<Round> round;
    {
      const std::scoped_lock lock(mutex_);
      if (closed_ || waiting_.empty() || under_way_ >= most) return;
      round = std::move(waiting_.front());
      waiting_.pop_front();
      ++under_way_;
    }
    const TimePoint now = engine_.Now();
    std::erase_if(round->items, [&](const auto& item) { return !IsDue(*item.lease, now); });
    if (round->items.empty()) {
      const std::scoped_lock lock(mutex_);
      --under_way_;
      continue;
    }
    std::vector<StoreOp*> ops;
    ops.reserve(round->items.size());
    for (auto& item : round->items) ops.push_back(&item.op);
    round->sent = now;
    engine_.batcher().SubmitRenewals(
        std::move(ops), [self = shared_from_this(), round, engine = engine_.shared_from_this()] {
          {
            const std::scoped_lock lock(self->mutex_);
            --self->under_way_;
          }
          self->SendNext();
          self->OnRenewed(*round);
        });
  }
}

void Keeper::OnRenewed(Round& round) {
  for (auto& [lease, op] : round.items) {
    const Phase phase = lease->phase();
    if (phase != Phase::kHeld && phase != Phase::kWriting) continue;
    switch (op.status) {
      case OpStatus::kDone:
        if (engine_.Prolong(*lease, round.sent, op.ttl)) engine_.events().Renewed(*lease);
        break;
      case OpStatus::kLost:
      case OpStatus::kMissing:
        // A release that was faster leaves the same trace; then the phase says so.
        if (lease->phase() == Phase::kHeld) engine_.Lose(*lease);
        break;
      case OpStatus::kInDoubt:
        if (lease->lost()) {  // it may have been renewed, and nobody uses it
          ReleaseInBackground(engine_, *lease->collection, lease->key, lease->lock_id, lease->mode,
                              engine_.Now() + op.ttl);
          break;
        }
        [[fallthrough]];
      default:
        RetryLater(*lease);
    }
  }
}

void Keeper::RetryLater(Lease& lease) {
  const TimePoint now = engine_.Now();
  engine_.events().RenewalFailing(lease, lease.deadline() - now);
  const auto pause =
      std::max<std::chrono::nanoseconds>(lease.ttl() / 12, std::chrono::milliseconds(5));
  const TimePoint due = std::min(now + pause, lease.deadline());
  const std::scoped_lock lock(mutex_);
  if (Unqueue(lease)) Queue(lease, due, due < lease.deadline());
}

void Keeper::StopRenewing() { LoseAll(/*writing=*/false); }

void Keeper::Close() { LoseAll(/*writing=*/true); }

void Keeper::LoseAll(bool writing) {
  std::vector<LeasePtr> lost;
  std::deque<std::shared_ptr<Round>> unsent;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    unsent.swap(waiting_);
    for (auto next = queue_.begin(); next != queue_.end();) {
      Lease& lease = *next++;
      if (!writing && lease.phase() == Phase::kWriting) continue;
      lost.emplace_back(&lease);
      Unqueue(lease);
    }
  }
  for (const auto& lease : lost) engine_.Lose(*lease);
}

}  // namespace doclock::detail
