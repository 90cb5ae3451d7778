#include "engine/waiting/wait_table.h"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/procedures/acquire_procedure.h"
#include "engine/runtime/insist.h"
#include "engine/runtime/jitter.h"

namespace doclock::detail {
namespace {

/// How long local waiters stand back after `max_handovers` hand-overs in a row.
constexpr std::chrono::milliseconds kStandBack{2};
/// An attempt without an answer for this long counts as one that did not reach the store.
constexpr std::chrono::seconds kSilence{2};

/// The obstacle that a waiter's last attempt met, for example " locked by worker (host:1)".
std::string StateOf(const Failure* last) {
  if (last && last->kept_closed) return " kept closed by min_hold";
  if (!last || last->holder.name.empty()) return " locked";
  return " locked by " + last->holder.ToString();
}

std::string WhyNot(Errc code, const std::string& what, const Failure* last) {
  switch (code) {
    case Errc::kTimedOut:
      return what + " was still" + StateOf(last) + " after the time to wait";
    case Errc::kCancelled: {
      const bool known = last && (last->kept_closed || !last->holder.name.empty());
      return "the wait for " + what + (known ? "," + StateOf(last) + "," : "") + " was stopped";
    }
    default:
      return what + " is" + StateOf(last);
  }
}

FailurePtr BusyFailure(const PendingAcquire& waiter, Errc code, const Failure* last) {
  return FilledFailure(code, [&](Failure& failure) {
    if (last) {
      failure.holder = last->holder;
      failure.remaining = last->remaining;
      failure.kept_closed = last->kept_closed;
    }
    failure.message = WhyNot(code, Describe(*waiter.spec.collection, waiter.spec.key), last);
  });
}

FailurePtr NoAnswer(const PendingAcquire& waiter) {
  return MakeFailure(Errc::kUnavailable, [&] {
    return Describe(*waiter.spec.collection, waiter.spec.key) +
           " could not be used: the store gave no answer within the time to wait";
  });
}

bool MayPass(const Failure& failure) {
  return failure.code == Errc::kBusy || failure.code == Errc::kUnavailable;
}

/// Is `other` busy too, if `spec` is?
bool IsAsBusy(const AcquireSpec& spec, const AcquireSpec& other) {
  return spec.mode == other.mode && other.max_holders <= spec.max_holders;
}

void SettleBusy(const std::list<PendingPtr>& waiters) noexcept {
  for (const auto& waiter : waiters) {
    waiter->Settle({.failure = BusyFailure(*waiter, Errc::kBusy, nullptr), .grant = {}});
  }
}

void SettleUnwakeable(const std::list<PendingPtr>& waiters) noexcept {
  for (const auto& waiter : waiters) waiter->Settle({.failure = NoMemory(), .grant = {}});
}

}  // namespace

/// The waiters of one key. Guarded by its shard's mutex.
struct WaitTable::KeyWaits {
  Collection* collection;
  Key key;
  std::size_t hash;
  std::list<PendingPtr> queue;
  int failing_fast = 0;      ///< Callers in the queue that do not wait.
  int releasing = 0;         ///< Marked releases under way: of an exclusive lock,
  int shares_releasing = 0;  ///< and of shares.
  bool asking = false;       ///< An attempt or a hand-over for a claimed waiter is under way.
  bool again = false;        ///< A hint or a release came meanwhile: ask again at once.
  int handovers = 0;         ///< In a row.
  TimePoint not_before{};    ///< Standing back until then.
  Runtime::TimerId timer = 0;
  TimePoint timer_when{};
  TimePoint asked_when{};  ///< When the attempt or hand-over under way began.
  FailurePtr last;         ///< Why the last attempt failed; null: none has ended.
  bool listed = true;      ///< Still in the shard's map.
};

struct WaitTable::Shard {
  std::mutex mutex;
  std::atomic<int> count = 0;
  std::unordered_multimap<std::size_t, KeyWaitsPtr> keys;
};

struct WaitTable::Attempt {
  Attempt(Engine& engine, KeyWaitsPtr of, PendingPtr who, TimePoint give_up)
      : waits(std::move(of)),
        waiter(std::move(who)),
        procedure(engine, waiter->spec, give_up, waiter->intent_id) {}
  KeyWaitsPtr waits;
  PendingPtr waiter;
  AcquireProcedure procedure;
};

WaitTable::WaitTable(Engine& engine)
    : engine_(engine), shards_(std::make_unique<std::array<Shard, kShards>>()) {}

WaitTable::~WaitTable() = default;

WaitTable::Shard& WaitTable::ShardOf(std::size_t hash) noexcept {
  return (*shards_)[(hash >> 7) % kShards];
}

WaitTable::KeyWaitsPtr WaitTable::FindKey(Shard& shard, const Collection& collection,
                                          const Key& key, std::size_t hash) {
  const auto [begin, end] = shard.keys.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second->collection == &collection && it->second->key == key) return it->second;
  }
  return nullptr;
}

WaitTable::KeyWaitsPtr WaitTable::FindOrAddKey(Shard& shard, Collection& collection, const Key& key,
                                               std::size_t hash) {
  if (auto found = FindKey(shard, collection, key, hash)) return found;
  auto waits = std::make_shared<KeyWaits>();
  waits->collection = &collection;
  waits->key = key;
  waits->hash = hash;
  shard.keys.emplace(hash, waits);
  shard.count.fetch_add(1, std::memory_order_release);
  return waits;
}

void WaitTable::EraseIfIdle(Shard& shard, const KeyWaitsPtr& waits) noexcept {
  if (!waits->queue.empty() || waits->releasing > 0 || waits->shares_releasing > 0 ||
      waits->asking || !waits->listed) {
    return;
  }
  engine_.runtime().Cancel(std::exchange(waits->timer, 0));
  const auto [begin, end] = shard.keys.equal_range(waits->hash);
  shard.keys.erase(std::find_if(begin, end, [&](auto& entry) { return entry.second == waits; }));
  waits->listed = false;
  shard.count.fetch_sub(1, std::memory_order_release);
}

bool WaitTable::MustQueue(const AcquireSpec& spec, std::size_t hash) {
  Shard& shard = ShardOf(hash);
  if (shard.count.load(std::memory_order_acquire) == 0) return false;
  const std::scoped_lock lock(shard.mutex);
  const auto waits = FindKey(shard, *spec.collection, spec.key, hash);
  if (!waits) return false;
  return waits->releasing > 0 || waits->shares_releasing > 0 ||
         (spec.wait.count() > 0 && !waits->queue.empty());
}

void WaitTable::Enqueue(const PendingPtr& waiter, FailurePtr why) {
  Waiters node{waiter};
  waiter->BeginWaiting();
  if (!waiter->fail_fast()) engine_.hints().Enter(*waiter->spec.collection);
  Shard& shard = ShardOf(waiter->hash);
  KeyWaitsPtr waits;
  bool ask = true;
  try {
    const std::scoped_lock lock(shard.mutex);
    StartTimer(waiter);
    waits = FindOrAddKey(shard, *waiter->spec.collection, waiter->spec.key, waiter->hash);
    if (why) waits->last = std::move(why);
    // The first waiter has asked already and sleeps until there is a reason to ask again.
    ask = waiter->fail_fast() || waits->queue.empty() || waits->timer == 0;
    waiter->where = node.begin();
    waits->queue.splice(waits->queue.end(), node);
    if (waiter->fail_fast()) ++waits->failing_fast;
    waiter->queue_state = PendingAcquire::QueueState::kQueued;
    waiter->answered = true;
  } catch (...) {
    engine_.runtime().Cancel(std::exchange(waiter->timer, 0));
    if (!waiter->fail_fast()) engine_.hints().Leave(*waiter->spec.collection);
    throw;
  }
  if (engine_.closed()) return End(*waiter, Errc::kCancelled);
  if (ask) Pump(waits);
}

void WaitTable::StartTimer(const PendingPtr& waiter) {
  if (waiter->deadline == TimePoint::max() || waiter->fail_fast()) return;
  waiter->timer = engine_.runtime().Schedule(
      waiter->deadline, [weak = std::weak_ptr(waiter), table = weak_from_this()] {
        const auto late = weak.lock();
        const auto self = table.lock();
        if (late && self) self->End(*late, Errc::kTimedOut);
      });
}

void WaitTable::Leave(KeyWaits& waits, PendingAcquire& waiter) noexcept {
  Waiters left;
  LeaveTo(left, waits, waiter);
}

void WaitTable::LeaveTo(Waiters& left, KeyWaits& waits, PendingAcquire& waiter) noexcept {
  if (waiter.queue_state == PendingAcquire::QueueState::kNotQueued) return;
  waiter.queue_state = PendingAcquire::QueueState::kNotQueued;
  engine_.runtime().Cancel(std::exchange(waiter.timer, 0));
  if (waiter.fail_fast()) {
    --waits.failing_fast;
  } else {
    engine_.hints().Leave(*waits.collection);
  }
  left.splice(left.end(), waits.queue, waiter.where);
}

PendingPtr WaitTable::Front(KeyWaits& waits) noexcept {
  while (!waits.queue.empty()) {
    const PendingPtr front = waits.queue.front();
    if (!front->settled()) return front;
    Leave(waits, *front);  // it was cancelled on its way here
  }
  return nullptr;
}

void WaitTable::Claim(KeyWaits& waits, PendingAcquire& waiter) noexcept {
  waits.asking = true;
  waits.again = false;
  waits.asked_when = engine_.Now();
  waiter.queue_state = PendingAcquire::QueueState::kClaimed;
}

bool WaitTable::MustHold(const KeyWaits& waits, const PendingAcquire& front, bool released) {
  if (waits.releasing > 0) return true;
  if (waits.shares_releasing == 0) return false;
  // A writer needs all of them to end; a caller that asks only once stops at any of them.
  return !front.shared() || (front.fail_fast() && !released);
}

WaitTable::Waiters WaitTable::TakeFailFast(KeyWaits& waits, const AcquireSpec* busy) noexcept {
  Waiters taken;
  if (waits.failing_fast == 0) return taken;  // a hand-over must not walk a long queue
  for (auto next = waits.queue.begin(); next != waits.queue.end();) {
    PendingAcquire& waiter = **next++;
    const bool waits_here = waiter.queue_state == PendingAcquire::QueueState::kQueued;
    if (waiter.fail_fast() && waits_here && (!busy || IsAsBusy(*busy, waiter.spec))) {
      LeaveTo(taken, waits, waiter);
    }
  }
  return taken;
}

bool WaitTable::BringFailFastForward(KeyWaits& waits) noexcept {
  if (waits.failing_fast == 0) return false;
  const auto first = std::find_if(waits.queue.begin(), waits.queue.end(), [](const PendingPtr& p) {
    return p->fail_fast() && p->queue_state == PendingAcquire::QueueState::kQueued;
  });
  if (first == waits.queue.end()) return false;
  waits.queue.splice(waits.queue.begin(), waits.queue, first);
  return true;
}

FailurePtr WaitTable::WhyEnded(const KeyWaits& waits, const PendingAcquire& waiter,
                               Errc code) const noexcept {
  const Failure* const last = waits.last.get();
  if (code == Errc::kTimedOut) {
    const bool silent = !last || engine_.Now() - waits.asked_when >= kSilence;
    if (waits.asking && silent) return NoAnswer(waiter);
    if (last && last->code == Errc::kUnavailable) return CopyOf(*last);
  }
  return BusyFailure(waiter, code, last);
}

void WaitTable::End(PendingAcquire& waiter, Errc code) noexcept {
  Shard& shard = ShardOf(waiter.hash);
  FailurePtr failure;
  const PendingPtr keep = waiter.shared_from_this();
  {
    const std::scoped_lock lock(shard.mutex);
    const auto waits = FindKey(shard, *waiter.spec.collection, waiter.spec.key, waiter.hash);
    failure = waits ? WhyEnded(*waits, waiter, code) : BusyFailure(waiter, code, nullptr);
    if (waits) {
      Leave(*waits, waiter);  // an attempt under way for it releases what it gets
      EraseIfIdle(shard, waits);
    }
  }
  waiter.Settle({.failure = std::move(failure), .grant = {}});
}

bool WaitTable::SleepUntil(const KeyWaitsPtr& waits, TimePoint when) noexcept {
  if (waits->timer != 0 && waits->timer_when <= when) return true;
  return Insist([&] {
    const auto timer =
        engine_.runtime().Schedule(when, [weak = std::weak_ptr(waits), table = weak_from_this()] {
          const auto due = weak.lock();
          const auto self = table.lock();
          if (!due || !self) return;
          {
            const std::scoped_lock lock(self->ShardOf(due->hash).mutex);
            due->timer = 0;
          }
          self->Pump(due);
        });
    engine_.runtime().Cancel(std::exchange(waits->timer, timer));
    waits->timer_when = when;
  });
}

WaitTable::Waiters WaitTable::SleepOrLeave(const KeyWaitsPtr& waits, TimePoint when) noexcept {
  Waiters left;
  if (waits->queue.empty() || SleepUntil(waits, when)) return left;
  while (!waits->queue.empty()) LeaveTo(left, *waits, *waits->queue.front());
  return left;
}

TimePoint WaitTable::NextLook(const Failure* why) const noexcept {
  const TimePoint now = engine_.Now();
  const TimePoint next = now + Jitter(engine_.options().poll_min, engine_.options().poll_max);
  // Compared in milliseconds: a lock may be closed for longer than nanoseconds can count.
  const auto poll = std::chrono::floor<std::chrono::milliseconds>(next - now);
  if (!why || !why->remaining || *why->remaining >= poll) return next;
  return now + *why->remaining + std::chrono::milliseconds(1);
}

void WaitTable::Pump(const KeyWaitsPtr& waits, bool released) noexcept {
  PendingPtr waiter;
  {
    const std::scoped_lock lock(ShardOf(waits->hash).mutex);
    if (waits->queue.empty() || waits->releasing > 0) return;
    if (waits->asking) {
      waits->again = true;
      return;
    }
    if (engine_.Now() < waits->not_before && SleepUntil(waits, waits->not_before)) return;
    waiter = Front(*waits);
    if (!waiter) return EraseIfIdle(ShardOf(waits->hash), waits);
    if (MustHold(*waits, *waiter, released)) return;
    Claim(*waits, *waiter);
  }
  try {
    StartAttempt(waits, waiter);
  } catch (const std::bad_alloc&) {
    Unclaim(waits, *waiter);  // the store is asked again later
  }
}

void WaitTable::Unclaim(const KeyWaitsPtr& waits, PendingAcquire& waiter) noexcept {
  Waiters unwakeable;
  {
    const std::scoped_lock lock(ShardOf(waits->hash).mutex);
    waits->asking = false;
    if (waiter.queue_state == PendingAcquire::QueueState::kClaimed) {
      waiter.queue_state = PendingAcquire::QueueState::kQueued;
    }
    unwakeable = SleepOrLeave(waits, NextLook(nullptr));
    EraseIfIdle(ShardOf(waits->hash), waits);
  }
  SettleUnwakeable(unwakeable);
}

void WaitTable::StartAttempt(const KeyWaitsPtr& waits, const PendingPtr& waiter) {
  if (!waiter->shared() && !waiter->fail_fast() && waiter->intent_id.is_nil()) {
    waiter->intent_id = NewUuid();
  }
  const TimePoint give_up = engine_.Now() + engine_.options().call_budget.ms();
  const auto attempt = std::make_shared<Attempt>(engine_, waits, waiter, give_up);
  RunAsync(engine_.shared_from_this(), std::shared_ptr<Procedure>(attempt, &attempt->procedure),
           [self = shared_from_this(), attempt] { self->AfterAttempt(*attempt); });
}

void WaitTable::AfterAttempt(Attempt& attempt) noexcept {
  if (attempt.procedure.lease) return Granted(attempt);
  const FailurePtr failure = attempt.procedure.TakeFailure();
  Shard& shard = ShardOf(attempt.waits->hash);
  const bool may_pass = MayPass(*failure);
  Waiters refused, unwakeable;
  bool ask_again = false;
  {
    const std::scoped_lock lock(shard.mutex);
    KeyWaits& waits = *attempt.waits;
    waits.asking = false;
    waits.last = CopyOf(*failure);
    if (attempt.waiter->queue_state == PendingAcquire::QueueState::kClaimed) {
      attempt.waiter->queue_state = PendingAcquire::QueueState::kQueued;
    }
    if (may_pass) {
      refused = TakeFailFast(waits, &attempt.waiter->spec);
    } else {
      LeaveTo(refused, waits, *attempt.waiter);
    }
    ask_again = std::exchange(waits.again, false) || !may_pass || BringFailFastForward(waits);
    if (!ask_again) unwakeable = SleepOrLeave(attempt.waits, NextLook(failure.get()));
    EraseIfIdle(shard, attempt.waits);
  }
  SettleUnwakeable(unwakeable);
  for (const auto& waiter : refused) {
    waiter->Settle({.failure = CopyOf(*failure), .grant = {}});
  }
  if (ask_again) Pump(attempt.waits, true);
}

void WaitTable::Granted(Attempt& attempt) noexcept {
  Shard& shard = ShardOf(attempt.waits->hash);
  Waiters refused, unwakeable;
  bool ask_again = false;
  {
    const std::scoped_lock lock(shard.mutex);
    KeyWaits& waits = *attempt.waits;
    waits.asking = waits.again = false;
    waits.handovers = 0;
    waits.last = BusyFailure(*attempt.waiter, Errc::kBusy, nullptr);
    Leave(waits, *attempt.waiter);
    // Beside a share there may be room for the next in the queue.
    ask_again = attempt.waiter->shared();
    const AcquireSpec exclusive;
    refused = TakeFailFast(waits, ask_again ? &exclusive : nullptr);
    unwakeable = SleepOrLeave(attempt.waits, NextLook(nullptr));
    EraseIfIdle(shard, attempt.waits);
  }
  AcquireResult result;
  result.grant.lease = std::move(attempt.procedure.lease);
  result.grant.body = std::move(attempt.procedure.body);
  result.grant.created = attempt.procedure.created;
  attempt.waiter->Settle(std::move(result));
  SettleBusy(refused);
  SettleUnwakeable(unwakeable);
  if (ask_again) Pump(attempt.waits, true);
}

WaitTable::Release WaitTable::BeginRelease(const Lease& lease, bool mark, bool may_hand_over) {
  const std::size_t hash = lease.key.Hash();
  Release release;
  release.table_ = this;
  release.collection_ = lease.collection;
  release.hash_ = hash;
  Shard& shard = ShardOf(hash);
  if (!mark && shard.count.load(std::memory_order_acquire) == 0) return release;
  const std::scoped_lock lock(shard.mutex);
  release.waits_ = mark ? FindOrAddKey(shard, *lease.collection, lease.key, hash)
                        : FindKey(shard, *lease.collection, lease.key, hash);
  if (!release.waits_) return release;
  KeyWaits& waits = *release.waits_;
  if (mark) {
    release.marked_ = true;
    release.shared_ = lease.mode == LockMode::kShared;
    ++(release.shared_ ? waits.shares_releasing : waits.releasing);
  }
  if (!may_hand_over || waits.asking) return release;
  const PendingPtr next = Front(waits);
  if (!next || next->shared()) return release;
  if (waits.handovers >= engine_.options().max_handovers &&
      engine_.store().OthersMayWait(*lease.collection)) {
    waits.handovers = 0;
    waits.not_before = engine_.Now() + kStandBack;
    return release;
  }
  Claim(waits, *next);
  release.next_ = next;
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
  return *this;
}

WaitTable::Release::~Release() {
  if (!waits_) return;
  table_->EndRelease(*this, nullptr, true);
}

void WaitTable::EndRelease(Release& release, LeasePtr lease, bool released) noexcept {
  if (!release.waits_) {
    // Callers that came meanwhile may have found it busy.
    if (released && !lease) OnHint(*release.collection_, release.hash_);
    return;
  }
  const KeyWaitsPtr waits = std::move(release.waits_);
  const PendingPtr next = std::move(release.next_);
  Shard& shard = ShardOf(waits->hash);
  Waiters refused, unwakeable;
  bool ask = released && !lease;
  bool listed = true;
  {
    const std::scoped_lock lock(shard.mutex);
    listed = waits->listed;
    if (release.marked_) --(release.shared_ ? waits->shares_releasing : waits->releasing);
    if (next) {
      waits->asking = false;
      ask = std::exchange(waits->again, false) || ask;
      if (lease) {
        Leave(*waits, *next);
        ++waits->handovers;
        waits->last = BusyFailure(*next, Errc::kBusy, nullptr);
        refused = TakeFailFast(*waits, nullptr);
        ask = false;
        unwakeable = SleepOrLeave(waits, NextLook(nullptr));
      } else if (next->queue_state == PendingAcquire::QueueState::kClaimed) {
        next->queue_state = PendingAcquire::QueueState::kQueued;
      }
    }
    if (!waits->queue.empty() && !lease) ask = true;
    EraseIfIdle(shard, waits);
  }
  if (lease) {
    AcquireResult result;
    result.grant.body = lease->body;
    result.grant.lease = std::move(lease);
    next->Settle(std::move(result), true);
    // The new holder is often put behind this thread on the same processor: let it begin.
    std::this_thread::yield();
  }
  SettleBusy(refused);
  SettleUnwakeable(unwakeable);
  if (!ask) return;
  if (listed) return Pump(waits, true);
  // All waiters of this entry have left meanwhile; later ones wait in another entry.
  OnHint(*release.collection_, release.hash_);
}

void WaitTable::OnHint(Collection& collection, std::optional<std::size_t> hash) noexcept {
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
  try {
    if (hash) {
      collect(ShardOf(*hash));
    } else {
      std::for_each(shards_->begin(), shards_->end(), collect);
    }
  } catch (const std::bad_alloc&) {
    // Waiters that were not found poll.
  }
  for (const auto& waits : found) Pump(waits);
}

void WaitTable::Close() noexcept {
  for (Shard& shard : *shards_) {
    while (const PendingPtr waiter = AnyOf(shard)) End(*waiter, Errc::kCancelled);
  }
}

PendingPtr WaitTable::AnyOf(Shard& shard) noexcept {
  const std::scoped_lock lock(shard.mutex);
  for (const auto& [hash, waits] : shard.keys) {
    if (!waits->queue.empty()) return waits->queue.front();
  }
  return nullptr;
}

}  // namespace doclock::detail
