#include "engine/waiting/wait_table.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/runtime/jitter.h"
#include "engine/waiting/acquire_procedure.h"
#include "engine/waiting/queue_times.h"

namespace doclock::detail {
namespace {

/// Hints may be lost, and a store may free the locks of a process that died.
constexpr std::chrono::milliseconds kLongestSleep = std::chrono::seconds(1);

bool MayPass(const PendingAcquire& waiter, const Failure& failure) {
  return failure.code == Errc::kBusy || failure.code == Errc::kUnavailable ||
         (waiter.search() && failure.code == Errc::kNotFound);
}

}  // namespace

struct WaitTable::Attempt {
  Attempt(LeaseBook& leases, KeyWaitsPtr of, PendingPtr who, TimePoint give_up)
      : waits(std::move(of)),
        waiter(std::move(who)),
        procedure(leases, waiter->spec, give_up, waiter->upsert_id,
                  waiter->uses_store_queue() ? &waiter->ticket : nullptr) {}
  KeyWaitsPtr waits;
  PendingPtr waiter;
  AcquireProcedure procedure;
};

WaitTable::WaitTable(std::shared_ptr<LeaseBook> leases)
    : leases_(std::move(leases)),
      calls_(leases_->calls()),
      hints_(*this),
      shards_(std::make_unique<std::array<Shard, kShards>>()) {}

WaitTable::~WaitTable() = default;

WaitTable::Shard& WaitTable::ShardOf(std::size_t hash) noexcept {
  return (*shards_)[(hash >> 7) % kShards];
}

KeyWaitsPtr WaitTable::FindKey(Shard& shard, const Collection& collection, const Key& key,
                               std::size_t hash, const AcquireSpec* search) {
  const auto [begin, end] = shard.keys.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second->collection == &collection && it->second->IsFor(key, search)) return it->second;
  }
  return nullptr;
}

KeyWaitsPtr WaitTable::FindOrAddKey(Shard& shard, Collection& collection, const Key& key,
                                    std::size_t hash, const AcquireSpec* search) {
  if (auto found = FindKey(shard, collection, key, hash, search)) return found;
  auto waits = std::make_shared<KeyWaits>(*this, collection, key, hash, search);
  shard.keys.emplace(hash, waits);
  shard.count.fetch_add(1, std::memory_order_release);
  return waits;
}

void WaitTable::EraseIfIdle(Shard& shard, const KeyWaitsPtr& waits) noexcept {
  if (!waits->idle() || !waits->listed) return;
  // The timer erases it.
  const TimePoint until = waits->EntryUntil();
  if (calls_.Now() < until && !calls_.closed()) {
    waits->last.reset();  // no answer to those who come later
    return SleepUntil(waits, until);
  }
  calls_.runtime().Cancel(std::exchange(waits->timer, 0));
  const auto [begin, end] = shard.keys.equal_range(waits->hash);
  shard.keys.erase(std::find_if(begin, end, [&](auto& entry) { return entry.second == waits; }));
  waits->listed = false;
  shard.count.fetch_sub(1, std::memory_order_release);
}

bool WaitTable::EntersAtOnce(const AcquireSpec& spec, std::size_t hash) const noexcept {
  // A shorter wait could end before the store answers that the lock is free.
  if (!calls_.store_has_queue() || spec.mode == LockMode::kShared || spec.wait < kFirstAnswer)
    return false;
  return calls_.met_queues().Knows(hash, calls_.Now());
}

bool WaitTable::MustQueue(const AcquireSpec& spec, std::size_t hash) {
  if (EntersAtOnce(spec, hash)) return true;
  Shard& shard = ShardOf(hash);
  if (shard.count.load(std::memory_order_acquire) == 0) return false;
  const std::scoped_lock lock(shard.mutex);
  const auto waits = FindKey(shard, *spec.collection, spec.key, hash);
  if (!waits) return false;
  return waits->releasing > 0 || waits->shares_releasing > 0 ||
         (spec.wait.count() > 0 && (!waits->queue.empty() || waits->others_turn()));
}

void WaitTable::Enqueue(const PendingPtr& waiter, FailurePtr why) {
  Waiters node{waiter};
  // The lock may be free: then no wait is reported. AfterAttempt reports it, if it is busy.
  const bool perhaps_free = waiter->search() || (!why && EntersAtOnce(waiter->spec, waiter->hash));
  if (why && why->code == Errc::kBusy) {
    waiter->first_answer =
        std::min<std::chrono::nanoseconds>(calls_.Now() - waiter->started, kFirstAnswer);
  }
  if (!perhaps_free) waiter->BeginWaiting(why ? why->waiting : std::nullopt);
  if (!waiter->fail_fast()) hints_.Enter(*waiter->spec.collection);
  Shard& shard = ShardOf(waiter->hash);
  KeyWaitsPtr waits;
  bool ask = true;
  bool first = true;
  try {
    const std::scoped_lock lock(shard.mutex);
    waiter->StartClock();
    waits = FindOrAddKey(shard, *waiter->spec.collection, waiter->spec.key, waiter->hash,
                         waiter->search());
    if (why) waits->last = std::move(why);
    first = waits->queue.empty() && waits->releasing == 0 && waits->shares_releasing == 0;
    // The first waiter has asked already and sleeps until there is a reason to ask again. A search
    // is one: its time may be over sooner.
    ask = waiter->fail_fast() || waiter->search() || waits->queue.empty() || waits->timer == 0 ||
          waits->others_turn();
    waiter->where = node.begin();
    waits->queue.splice(waits->queue.end(), node);
    if (waiter->fail_fast()) ++waits->failing_fast;
    waiter->queue_state = PendingAcquire::QueueState::kQueued;
    waiter->answered = true;
  } catch (...) {
    if (!waiter->fail_fast()) hints_.Leave(*waiter->spec.collection);
    throw;
  }
  if (perhaps_free && !first) waiter->BeginWaiting();
  if (calls_.closed()) return End(*waiter, Errc::kCancelled);
  if (ask) Pump(waits);
}

bool WaitTable::AwaitsFirstAnswer(PendingAcquire& waiter) noexcept {
  Shard& shard = ShardOf(waiter.hash);
  const std::scoped_lock lock(shard.mutex);
  if (!waiter.answered) return waiter.WaitForFirstAnswer();
  const auto waits = FindKey(shard, waiter);
  if (!waits || !waits->AwaitsFirstAnswer(waiter) || !waiter.WaitForFirstAnswer()) return false;
  return waits->overdue = true;
}

void WaitTable::End(PendingAcquire& waiter, Errc code) noexcept {
  Shard& shard = ShardOf(waiter.hash);
  FailurePtr failure;
  const PendingPtr keep = waiter.shared_from_this();
  KeyWaitsPtr waits;
  QueueTicket ticket;
  {
    const std::scoped_lock lock(shard.mutex);
    waits = FindKey(shard, waiter);
    failure = waits ? waits->WhyEnded(waiter, code) : BusyFailure(waiter, code, nullptr);
    if (waits) {
      // An attempt under way for it releases what it gets, and leaves the store's queue. It may be
      // under way still when the wait is ended a second time.
      const bool queued = waiter.queue_state == PendingAcquire::QueueState::kQueued;
      waits->Leave(waiter);
      if (queued) ticket = std::exchange(waiter.ticket, {});
      EraseIfIdle(shard, waits);
    }
  }
  waiter.Settle({.failure = std::move(failure), .grant = {}});
  if (!LeaveStoreQueue(waiter, ticket)) return;
  if (!calls_.closed()) Pump(waits);  // the next one places an entry of its own
}

void WaitTable::EndIfQueued(PendingAcquire& waiter) noexcept {
  {
    const std::scoped_lock lock(ShardOf(waiter.hash).mutex);
    if (waiter.queue_state != PendingAcquire::QueueState::kQueued) return;
  }
  End(waiter, Errc::kCancelled);
}

void WaitTable::SleepUntil(const KeyWaitsPtr& waits, TimePoint when) noexcept {
  if (waits->timer != 0 && waits->timer_when <= when) return;
  const auto timer =
      calls_.runtime().Schedule(when, [weak = std::weak_ptr(waits), table = weak_from_this()] {
        const auto due = weak.lock();
        const auto self = table.lock();
        if (!due || !self) return;
        {
          const std::scoped_lock lock(self->ShardOf(due->hash).mutex);
          due->timer = 0;
        }
        self->Pump(due);
      });
  calls_.runtime().Cancel(std::exchange(waits->timer, timer));
  waits->timer_when = when;
}

TimePoint WaitTable::NextLook(const Failure* why) const noexcept {
  const TimePoint now = calls_.Now();
  return NextLook(why, now + Jitter(calls_.options().poll_min, calls_.options().poll_max));
}

TimePoint WaitTable::NextLookInQueue(const PendingAcquire& waiter, int queued_behind,
                                     const Failure* why) noexcept {
  const std::chrono::milliseconds refresh = RefreshAfter(waiter.spec.ttl);
  const TimePoint latest = calls_.Now() + Jitter(refresh * 3 / 4, refresh);
  // The store gives a hint to the one whose turn it is. Without hints it polls as ever.
  const bool heard = hints_.Heard(*waiter.spec.collection);
  const TimePoint next = heard ? latest : std::min(latest, NextLook(nullptr));
  // The first in the queue is the one to take over a lock that is over. The second takes over from
  // a first that died: `why` tells when that entry is over.
  return NextLook(queued_behind <= 1 ? why : nullptr, next);
}

TimePoint WaitTable::NextSearch(Collection& collection, const Failure& why) noexcept {
  std::chrono::milliseconds pause = Jitter(calls_.options().poll_min, calls_.options().poll_max);
  if (why.code == Errc::kNotFound && why.remaining) {
    // The store tells all that ends, and gives a hint of all that is written.
    if (hints_.Heard(collection)) {
      pause = std::max(pause, Jitter(kLongestSleep * 3 / 4, kLongestSleep));
    }
    pause = std::min(pause, std::max(*why.remaining, std::chrono::milliseconds(1)));
  }
  return calls_.Now() + pause;
}

TimePoint WaitTable::NextLook(const Failure* why, TimePoint next) const noexcept {
  const TimePoint now = calls_.Now();
  // Compared in milliseconds: a lock may be closed for longer than nanoseconds can count.
  const auto poll = std::chrono::floor<std::chrono::milliseconds>(next - now);
  if (!why || !why->remaining || *why->remaining >= poll) return next;
  return now + *why->remaining + std::chrono::milliseconds(1);
}

void WaitTable::Pump(const KeyWaitsPtr& waits, bool released) noexcept {
  PendingPtr waiter;
  bool answered = false;
  {
    const std::scoped_lock lock(ShardOf(waits->hash).mutex);
    if (waits->queue.empty()) return EraseIfIdle(ShardOf(waits->hash), waits);
    if (waits->releasing > 0) return;
    if (waits->asking >= MostAsking(*waits)) {
      waits->again = true;
      return;
    }
    // A caller that asks only once does not stand back: it would wait.
    if (calls_.Now() < waits->not_before && !waits->BringFailFastForward()) {
      const bool turn = waits->others_turn();
      const TimePoint next = turn ? waits->NextInTurn() : waits->not_before;
      if (calls_.Now() < next) return SleepUntil(waits, next);
    }
    waiter = waits->Front();
    if (!waiter) {
      waits->again = waits->asking > 0;
      return EraseIfIdle(ShardOf(waits->hash), waits);
    }
    if (waits->MustHold(*waiter, released)) return;
    if (calls_.Now() < waits->not_before) waiter->asks_in_turn = true;
    waits->Claim(*waiter);
    answered = waits->last != nullptr;
  }
  waits->wanted ? StartSearch(waits, waiter, answered) : StartAttempt(waits, waiter);
}

void WaitTable::Unclaim(const KeyWaitsPtr& waits, PendingAcquire& waiter) noexcept {
  QueueTicket ticket;
  {
    const std::scoped_lock lock(ShardOf(waits->hash).mutex);
    waits->Unclaim(waiter);
    ticket = waits->TakeTicketOfLeaver(waiter);
    if (!waits->queue.empty()) SleepUntil(waits, NextLook(nullptr));
    EraseIfIdle(ShardOf(waits->hash), waits);
  }
  LeaveStoreQueue(waiter, ticket);
}

void WaitTable::StartAttempt(const KeyWaitsPtr& waits, const PendingPtr& waiter) {
  const TimePoint give_up = calls_.Now() + calls_.budget();
  const auto attempt = std::make_shared<Attempt>(*leases_, waits, waiter, give_up);
  RunAsync(calls_, std::shared_ptr<Procedure>(attempt, &attempt->procedure),
           [self = shared_from_this(), attempt] {
             AcquireProcedure& made = attempt->procedure;
             attempt->waiter->upsert_id = made.upsert_id();
             AcquireResult result = made.lease ? made.TakeGranted() : AcquireResult();
             result.failure = made.TakeFailure();
             self->AfterAttempt(attempt->waits, *attempt->waiter, std::move(result),
                                made.queued_behind());
           });
}

void WaitTable::StartSearch(const KeyWaitsPtr& waits, const PendingPtr& waiter, bool asks_free_in) {
  calls_.searching().Run(
      [self = shared_from_this(), waits, waiter, asks_free_in, background = calls_.Background()] {
        AcquireResult result;
        if (waiter->settled()) {  // while others searched
          result.failure = MakeFailure(Errc::kCancelled, "");
        } else {
          result = SearchOnce(*self->leases_, waiter->spec, asks_free_in);
        }
        self->AfterAttempt(waits, *waiter, std::move(result));
      });
}

void WaitTable::AfterAttempt(const KeyWaitsPtr& waits, PendingAcquire& waiter, AcquireResult result,
                             std::optional<int> queued_behind) noexcept {
  if (result.grant.lease) return Granted(waits, waiter, std::move(result));
  const FailurePtr failure = std::move(result.failure);
  Shard& shard = ShardOf(waits->hash);
  const bool may_pass = MayPass(waiter, *failure);
  if (may_pass) waiter.BeginWaiting(failure->waiting);
  Leavers left;
  bool ask_again = false;
  QueueTicket ticket;
  std::optional<GrantSeen> told;
  {
    const std::scoped_lock lock(shard.mutex);
    told.swap(waits->told);
    waits->Unclaim(waiter);
    // A search whose wait was over has not asked.
    if (failure->code != Errc::kCancelled) waits->TakeAnswer(CopyOf(*failure));
    // One whose lease is over before the store answers must not keep the others from asking.
    const bool queued = waiter.queue_state == PendingAcquire::QueueState::kQueued;
    if (waits->wanted && queued && failure->code == Errc::kUnavailable) {
      waits->queue.splice(waits->queue.end(), waits->queue, waiter.where);
    }
    if (may_pass) {
      left.refused = waits->TakeFailFast(&waiter.spec);
    } else {
      waits->LeaveTo(left.refused, waiter);
    }
    if (may_pass) left.overdue = waits->TakeOverdue();
    ticket = waits->TakeTicketOfLeaver(waiter);
    ask_again = std::exchange(waits->again, false) || !may_pass || ticket.entered ||
                waits->BringFailFastForward();
    if (!ask_again && !waits->queue.empty()) {
      const TimePoint next = waits->wanted ? NextSearch(*waits->collection, *failure)
                             : queued_behind
                                 ? NextLookInQueue(waiter, *queued_behind, failure.get())
                                 : NextLook(failure.get());
      SleepUntil(waits, next);
    }
    EraseIfIdle(shard, waits);
  }
  LeaveStoreQueue(waiter, ticket);
  left.Settle(failure.get());
  if (told && TakeGrant(waits, *told)) return;
  if (ask_again) Pump(waits, true);
}

Leavers WaitTable::LeaveGranted(const KeyWaitsPtr& waits, PendingAcquire& waiter) noexcept {
  Leavers left;
  waits->LeaveGranted(waiter);
  if (waiter.shared() || waits->wanted) {  // others may have room: their own attempt tells
    left.refused = waits->TakeFailFastWriters();
  } else {
    left.refused = waits->TakeFailFast(nullptr);
    left.overdue = waits->TakeOverdue();
  }
  if (!waits->queue.empty()) SleepUntil(waits, NextLook(nullptr));
  return left;
}

void WaitTable::Granted(const KeyWaitsPtr& waits, PendingAcquire& waiter,
                        AcquireResult result) noexcept {
  Shard& shard = ShardOf(waits->hash);
  Leavers left;
  {
    const std::scoped_lock lock(shard.mutex);
    left = LeaveGranted(waits, waiter);
    EraseIfIdle(shard, waits);
  }
  waiter.Settle(std::move(result));
  left.Settle(nullptr);
  // Beside a share there may be room for the next in the queue, and more may match a filter.
  if (waiter.shared() || waits->wanted) Pump(waits, true);
}

bool WaitTable::TakeGrant(const KeyWaitsPtr& waits, const GrantSeen& seen) noexcept {
  PendingPtr waiter;
  QueueTicket ticket;
  {
    const std::scoped_lock lock(ShardOf(waits->hash).mutex);
    if (waits->asking) {
      waits->told = seen;  // the attempt under way says first what it met
      return false;
    }
    waiter = waits->FindMeant(seen);
    if (!waiter) return false;
    waiter->ticket.seems_granted = true;
    if (!waiter->ticket.IsSettledBy(seen)) return false;
    waits->Claim(*waiter);
    ticket = std::exchange(waiter->ticket, {});
  }
  AcquireResult result;
  GrantRequest grant = MakeGrant(waiter->spec);
  grant.lock_id = ticket.id;
  result.grant.body = seen.body;
  result.grant.created = waiter->IsMadeByIt(seen.born);
  result.grant.lease = leases_->Make(waiter->spec, waiter->spec.key, grant, seen.version, seen.born,
                                     seen.body, ticket.since, true);
  if (result.grant.lease) {
    Granted(waits, *waiter, std::move(result));
    return true;
  }
  Unclaim(waits, *waiter);  // the hint came too late
  return false;
}

void WaitTable::Hear(Collection& collection, const LockHint& hint) noexcept {
  if (calls_.runtime().IsVirtual() && !calls_.runtime().OnOwnThread()) {
    return calls_.runtime().Post([weak = weak_from_this(), &collection, hint] {
      if (const auto self = weak.lock()) self->Hear(collection, hint);
    });
  }
  Wake(collection, hint.hash, hint.grant);
  if (hint.hash && !hint.grant) Wake(collection, HashOfSearches(collection));
}

void WaitTable::Freed(Collection& collection, std::size_t hash) noexcept {
  Wake(collection, hash);
  FreedForSearches(collection);
}

void WaitTable::FreedForSearches(Collection& collection) noexcept {
  const std::size_t hash = HashOfSearches(collection);
  if (ShardOf(hash).count.load(std::memory_order_acquire) == 0) return;
  if (!hints_.Heard(collection)) Wake(collection, hash);
}

void WaitTable::Wake(const Collection& collection, std::optional<std::size_t> hash,
                     const std::optional<GrantSeen>& grant) noexcept {
  std::vector<KeyWaitsPtr> found;
  const auto collect = [&](Shard& shard) {
    if (shard.count.load(std::memory_order_acquire) == 0) return;
    const std::scoped_lock lock(shard.mutex);
    auto keys =
        hash ? shard.keys.equal_range(*hash) : std::pair(shard.keys.begin(), shard.keys.end());
    for (; keys.first != keys.second; ++keys.first) {
      const KeyWaitsPtr& waits = keys.first->second;
      if (waits->collection == &collection) found.push_back(waits);
    }
  };
  if (hash) {
    collect(ShardOf(*hash));
  } else {
    std::for_each(shards_->begin(), shards_->end(), collect);
  }
  for (const auto& waits : found) {
    if (!grant || !TakeGrant(waits, *grant)) Pump(waits);
  }
}

}  // namespace doclock::detail
