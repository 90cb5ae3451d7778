#include <algorithm>
#include <cstddef>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "doclock/detail/facade.h"
#include "engine/calls/failure.h"
#include "engine/engine.h"
#include "engine/verbs/attempt_together.h"

namespace doclock::detail {
namespace {

/// The locks that one call has taken so far. While it waits for another one, a timer may give them
/// back.
class TakenLocks {
 public:
  struct Taken {
    std::size_t place;
    Grant grant;
  };

  explicit TakenLocks(std::size_t most) { all.reserve(most); }

  /// From now on a timer may give them back. Returns the number of this wait.
  std::uint64_t BeginWait() {
    const std::lock_guard guard(mutex_);
    spare_.reserve(all.capacity());
    return wait_ = ++last_wait_;
  }
  /// Returns whether they were given back.
  bool EndWait() noexcept {
    const std::lock_guard guard(mutex_);
    return std::exchange(wait_, 0) == 0;
  }
  /// Gives them back, if that wait goes on.
  void TimeIsUp(std::uint64_t wait) noexcept {
    std::vector<Taken> gone;
    {
      const std::lock_guard guard(mutex_);
      if (wait_ != wait) return;
      wait_ = 0;
      all.swap(spare_);
      gone = std::move(spare_);
    }
    GiveBack(gone);  // may run other callers' code
  }
  static void GiveBack(std::vector<Taken>& locks) noexcept {
    for (; !locks.empty(); locks.pop_back()) detail::GiveBack(std::move(locks.back().grant));
  }

  std::vector<Taken> all;  ///< The caller's own, unless it waits.

 private:
  std::mutex mutex_;
  std::vector<Taken> spare_;
  std::uint64_t wait_ = 0, last_wait_ = 0;
};

bool StandsBefore(const AcquireSpec& a, const AcquireSpec& b) {
  if (a.collection != b.collection) return a.collection->name() < b.collection->name();
  return a.key < b.key;
}

/// The order in which all clients take these locks, as indices.
std::vector<std::size_t> OrderOf(const std::vector<AcquireSpec>& specs) {
  std::vector<std::size_t> order(specs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return StandsBefore(specs[a], specs[b]); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const AcquireSpec& spec = specs[order[i]];
    if (StandsBefore(specs[order[i - 1]], spec)) continue;
    throw std::invalid_argument("doclock: " + Describe(*spec.collection, spec.key) +
                                " is to be locked twice");
  }
  return order;
}

/// Takes locks, all under one timeout. Both forms use it.
///
/// At first it tries all of them together. Those that stand before the first that is not available
/// it keeps, and takes the others one after the other. It waits for a lock only while it holds none
/// that comes after it in the order of all clients: so no two callers wait for each other. If a
/// wait is long, it gives back what it holds, and goes on waiting. It then holds one that comes
/// after others, and takes these only if they are free. Otherwise it starts over.
class LockingAll {
 public:
  LockingAll(EnginePtr engine, std::vector<AcquireSpec> specs)
      : engine_(std::move(engine)),
        specs_(std::move(specs)),
        order_(OrderOf(specs_)),
        started_(engine_->Now()),
        taken_(std::make_shared<TakenLocks>(specs_.size())) {
    result_.grants.resize(specs_.size());
    // A lock with a min_hold that is given back stays closed to all, so that serves no other
    // client.
    if (!specs_.empty() && specs_.front().min_hold.count() == 0) {
      hold_ = specs_.front().hold_while_waiting;
    }
    if (auto closed = WhyClosed(*engine_)) Fail(std::move(closed));
  }

  [[nodiscard]] bool done() const noexcept {
    return result_.failure != nullptr || next_ == specs_.size();
  }

  /// The locks that the first attempt tries together; none if that is no use.
  [[nodiscard]] std::vector<AcquireSpec> Together() const {
    std::vector<AcquireSpec> specs;
    if (engine_->traits().immediate) return specs;  // in place, a call costs nothing
    if (done() || specs_.size() < 2) return specs;
    // Two callers who do not wait could refuse each other. One with a min_hold must not be given
    // back: see above.
    const AcquireSpec& any = specs_.front();
    if (any.wait.count() == 0 || any.min_hold.count() > 0) return specs;
    for (const std::size_t i : order_) specs.push_back(specs_[i]);
    return specs;
  }

  /// What has come of these.
  void Take(AttemptResults results) noexcept {
    bool all_before = true;
    for (std::size_t place = 0; place < results.size(); ++place) {
      AcquireResult& result = results[place];
      created(place) = result.grant.created;
      if (result.grant.lease && all_before) {
        taken_->all.push_back({next_++, std::move(result.grant)});
      } else if (std::exchange(all_before, false)) {
        Missed(place, std::move(result.failure));
      }
    }
    for (AcquireResult& result : results) GiveBack(std::move(result.grant));  // the others
  }

  /// The next lock to take.
  [[nodiscard]] AcquireSpec Next() {
    AcquireSpec spec = specs_[order_[next_]];
    spec.wait = ahead_ ? Duration() : Left(spec.wait);
    if (next_ > 0 && spec.wait > hold_) StartTimer();
    return spec;
  }

  void Take(AcquireResult result) noexcept {
    const bool alone = StopTimer();
    if (result.failure) {
      const bool away = result.failure->code == Errc::kUnavailable &&
                        Left(specs_.front().wait) > kLeast;  // a wait outlasts that
      const bool may_start_over = ahead_ && (IsBusy(result.failure) || away);
      return may_start_over ? StartOver() : Fail(std::move(result.failure));
    }
    created(next_) = created(next_) || result.grant.created;
    taken_->all.push_back({next_, std::move(result.grant)});
    if (alone) ahead_ = std::exchange(next_, 0);
    if (!alone && ++next_ == ahead_) {
      ++next_;
      ahead_.reset();
    }
  }

  void Fail(FailurePtr failure) noexcept {
    result_.failure = std::move(failure);
    TakenLocks::GiveBack(taken_->all);
  }

  AcquireAllResult Finish() noexcept {
    for (TakenLocks::Taken& taken : taken_->all) {
      taken.grant.created = created(taken.place);
      result_.grants[order_[taken.place]] = std::move(taken.grant);
    }
    CheckLeases();
    return std::move(result_);
  }

  [[nodiscard]] const EnginePtr& engine() const noexcept { return engine_; }

 private:
  /// The first of those tried together that was not available; no failure: it was not tried.
  void Missed(std::size_t place, FailurePtr failure) noexcept {
    if (!failure || IsBusy(failure)) return;
    const AcquireSpec& spec = specs_[order_[place]];
    if (failure->code == Errc::kUnavailable && Left(spec.wait) > kLeast) return;
    if (failure->code == Errc::kCancelled) {
      engine_->events().Busy(*spec.collection, spec.key, *failure);
    }
    Fail(std::move(failure));
  }

  /// Has this call created the document? It may have given the lock back since.
  bool& created(std::size_t place) noexcept { return result_.grants[order_[place]].created; }

  /// A wait that is over is still a wait: it ends with kTimedOut.
  static constexpr Duration kLeast{std::chrono::milliseconds(1)};

  /// What is left of the caller's time to wait.
  [[nodiscard]] Duration Left(Duration wait) const {
    if (wait == kForever || wait.count() == 0) return wait;
    const auto spent =
        std::chrono::duration_cast<std::chrono::milliseconds>(engine_->Now() - started_);
    return std::max(kLeast, Duration(wait.ms() - spent));
  }

  void StartTimer() {
    const auto give_back = [taken = std::weak_ptr(taken_), wait = taken_->BeginWait()] {
      if (const auto locks = taken.lock()) locks->TimeIsUp(wait);
    };
    timed_ = true;
    timer_ = engine_->runtime().Schedule(engine_->Now() + hold_.ms(), give_back);
  }
  /// Returns whether the timer has given back what was held.
  bool StopTimer() noexcept {
    if (!std::exchange(timed_, false)) return false;
    engine_->runtime().Cancel(timer_);
    return taken_->EndWait();
  }

  /// Holds the locks for twice as long in the next round: a caller whose locks all have long queues
  /// gets its turn in each of them in the end.
  void StartOver() noexcept {
    TakenLocks::GiveBack(taken_->all);
    next_ = 0;
    ahead_.reset();
    hold_ = Duration(2 * hold_.ms());
  }

  /// A lease without renewal may have ended during the wait for the others.
  void CheckLeases() noexcept {
    for (std::size_t i = 0; i < result_.grants.size(); ++i) {
      const Grant& grant = result_.grants[i];
      if (result_.failure || LeaseHeld(*grant.lease)) continue;
      result_.failure = MakeFailure(Errc::kLost, *specs_[i].collection, specs_[i].key,
                                    "the lock of ", " ended before all others were locked");
    }
    if (result_.failure) result_.grants.clear();
  }

  EnginePtr engine_;
  std::vector<AcquireSpec> specs_;
  std::vector<std::size_t> order_;
  TimePoint started_;
  Duration hold_ = kForever;
  std::shared_ptr<TakenLocks> taken_;
  std::size_t next_ = 0;              ///< How many of the order are held; the next one to take.
  std::optional<std::size_t> ahead_;  ///< The one that is held although others before it are not.
  bool timed_ = false;
  Runtime::TimerId timer_ = 0;
  AcquireAllResult result_;
};

class LockingAllAsync : public std::enable_shared_from_this<LockingAllAsync> {
 public:
  LockingAllAsync(LockingAll locking, AsyncContext context,
                  std::function<void(AcquireAllResult)> done)
      : locking_(std::move(locking)), context_(std::move(context)), done_(std::move(done)) {}

  /// Takes an answer, and goes on.
  [[nodiscard]] auto Taker() {
    return [self = shared_from_this()](auto answer) {
      self->locking_.Take(std::move(answer));
      self->locking_.done() ? self->Complete() : self->Step();
    };
  }

  void Start() {
    std::vector<AcquireSpec> together = locking_.Together();
    if (together.empty()) return Step();
    const CancellerPtr canceller = context_.canceller;  // all may be complete before it follows
    AcquireHandle attempt = AttemptTogether(locking_.engine(), std::move(together), false, Taker());
    if (attempt) canceller->Follow(std::move(attempt));
  }

  void Step() {
    const CancellerPtr canceller = context_.canceller;  // see Start
    canceller->Follow(AcquireAsync(locking_.engine(), locking_.Next(), Taker()));
  }

  void Complete() noexcept {
    const auto done = std::move(done_);
    context_ = {};  // it leads back here
    done(locking_.Finish());
  }

 private:
  LockingAll locking_;
  AsyncContext context_;
  std::function<void(AcquireAllResult)> done_;
};

}  // namespace

std::vector<AcquireSpec> SpecsFor(const AcquireSpec& spec, std::vector<Key> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<AcquireSpec> specs(keys.size(), spec);
  for (std::size_t i = 0; i < keys.size(); ++i) specs[i].key = std::move(keys[i]);
  return specs;
}

void CheckOneManager(std::span<const BindingPtr> bindings) {
  for (const BindingPtr& binding : bindings) {
    if (binding->engine == bindings.front()->engine) continue;
    throw std::invalid_argument("doclock: '" + binding->collection->name() +
                                "' is of another LockManager than '" +
                                bindings.front()->collection->name() + "'");
  }
}

AcquireAllResult AcquireAll(const EnginePtr& engine, std::vector<AcquireSpec> specs,
                            std::stop_token stop) {
  LockingAll locking(engine, std::move(specs));
  auto together = locking.Together();
  if (!together.empty() && !stop.stop_requested()) {
    locking.Take(AttemptTogether(engine, std::move(together), stop));
  }
  while (!locking.done()) locking.Take(Acquire(engine, locking.Next(), stop));
  return locking.Finish();
}

void AcquireAllAsync(const EnginePtr& engine, std::vector<AcquireSpec> specs, AsyncContext context,
                     std::function<void(AcquireAllResult)> done) {
  const bool nothing_to_do = specs.empty();
  auto task = std::make_shared<LockingAllAsync>(LockingAll(engine, std::move(specs)),
                                                std::move(context), std::move(done));
  if (nothing_to_do) {
    RunOnNotifier(engine, [task] { task->Complete(); });
  } else {
    task->Start();
  }
}

}  // namespace doclock::detail
