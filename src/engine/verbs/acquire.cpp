/// The ways to a lock: blocking and asynchronous, for one document and for the next of many.

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/check_options.h"
#include "engine/verbs/attempt_together.h"
#include "engine/verbs/launch.h"
#include "engine/waiting/acquire_procedure.h"
#include "engine/waiting/search.h"

namespace doclock::detail {
namespace {

using Target = PendingAcquire::Target;

FailurePtr NotNow(Engine& engine, const AcquireSpec& spec, Target target,
                  const std::stop_token& stop) {
  if (auto closed = WhyClosed(engine)) return closed;
  if (!stop.stop_requested()) return nullptr;
  if (target == Target::kDocument) {
    return MakeFailure(Errc::kCancelled, *spec.collection, spec.key, "the wait for ",
                       " was stopped");
  }
  return MakeFailure(Errc::kCancelled, [&] {
    return "the wait for a document of '" + spec.collection->name() + "' was stopped";
  });
}

/// May a later attempt end differently without any act of the caller?
bool WorthWaiting(const AcquireSpec& spec, const Failure& failure,
                  Target target = Target::kDocument) {
  if (spec.wait.count() == 0) return false;
  return failure.code == Errc::kBusy || failure.code == Errc::kUnavailable ||
         (failure.code == Errc::kNotFound && target == Target::kAnyMatch);
}

TimePoint GiveUp(Engine& engine) { return engine.Now() + engine.calls().budget(); }

AcquireHandle EndLater(const PendingPtr& waiter, FailurePtr failure) {
  waiter->table->calls().runtime().Notify(
      [waiter, failure = std::make_shared<FailurePtr>(std::move(failure))] {
        waiter->Settle(Refused<AcquireResult>(std::move(*failure)));
      });
  return waiter;
}

/// Shared by a blocked caller and the thread that settles its wait: the caller may have to leave
/// first.
template <class Result>
struct Waited {
  explicit Waited(Runtime& runtime) : event(runtime.MakeEvent()) {}

  void Set(Result outcome) {
    result = std::move(outcome);
    event->Set();
  }
  /// Waits on the caller's thread for what `start` starts. A stop ends it, by `end`.
  template <class Start, class End>
  Result After(const Start& start, const std::stop_token& stop, const End& end) {
    try {
      start();
      const std::stop_callback on_stop(stop, end);
      event->Wait();
    } catch (...) {
      end();  // nothing is left that could end it
      throw;
    }
    return std::move(result);
  }

  Result result;
  const std::unique_ptr<Runtime::Event> event;
};

/// Waits on the caller's thread for what `start` starts.
template <class Start>
AcquireResult Wait(const EnginePtr& engine, AcquireSpec spec, PendingAcquire::Target target,
                   const std::stop_token& stop, TimePoint started, Start start) {
  const auto waited = std::make_shared<Waited<AcquireResult>>(engine->runtime());
  const auto waiter = std::make_shared<PendingAcquire>(
      engine->shared_waits(), std::move(spec), target,
      [waited](AcquireResult settled) { waited->Set(std::move(settled)); }, started);
  engine->waits().pendings().Add(*waiter);
  return waited->After([&] { start(waiter); }, stop, [&] { waiter->End(Errc::kCancelled); });
}

/// May the store be asked on the caller's thread? Not if the wait could be over, or stopped, before
/// it answers.
bool MayAskHere(const Engine& engine, const AcquireSpec& spec, const std::stop_token& stop) {
  if (engine.traits().immediate || spec.wait == Duration()) return true;
  return spec.wait == kForever && !stop.stop_possible();
}

/// The first attempt of an asynchronous caller, if no other caller waits for the key.
struct FirstAttempt {
  FirstAttempt(Engine& engine, PendingPtr who)
      : waiter(std::move(who)), procedure(engine.leases(), waiter->spec, GiveUp(engine)) {}
  PendingPtr waiter;
  AcquireProcedure procedure;
};

void AfterFirstAttempt(const EnginePtr& engine, FirstAttempt& attempt) noexcept {
  if (attempt.procedure.lease) {
    attempt.waiter->Settle(attempt.procedure.TakeGranted());
    return;
  }
  FailurePtr failure = attempt.procedure.TakeFailure();
  if (attempt.waiter->settled() || !WorthWaiting(attempt.waiter->spec, *failure)) {
    attempt.waiter->Settle(Refused<AcquireResult>(std::move(failure)));
    return;
  }
  attempt.waiter->upsert_id = attempt.procedure.upsert_id();
  engine->waits().Enqueue(attempt.waiter, std::move(failure));
}

/// Makes the first attempt on workers.
void Attempt(const EnginePtr& engine, const PendingPtr& waiter) {
  const auto attempt = std::make_shared<FirstAttempt>(*engine, waiter);
  RunAsync(engine->calls(), std::shared_ptr<Procedure>(attempt, &attempt->procedure),
           [engine, attempt, background = engine->Background()] {
             AfterFirstAttempt(engine, *attempt);
           });
}

/// Starts an acquisition on workers, within its time to wait.
void Start(const EnginePtr& engine, const PendingPtr& waiter) {
  if (engine->closed()) return waiter->End(Errc::kCancelled);  // Close did not know of it
  if (!engine->traits().immediate) waiter->StartClock();
  if (engine->waits().MustQueue(waiter->spec, waiter->hash)) {
    return engine->waits().Enqueue(waiter, nullptr);
  }
  Attempt(engine, waiter);
}

/// Runs `start`. If it throws, the exception is the only report: the waiter is not settled.
template <class Start>
void StartOrForget(const PendingPtr& waiter, const Start& start) {
  try {
    start();
  } catch (...) {
    waiter->Forget();
    throw;
  }
}

/// Is the state of the lock unknown after this?
bool TellsNothing(const FailurePtr& failure) noexcept {
  return failure && (failure->code == Errc::kInDoubt || failure->code == Errc::kUnavailable);
}

/// One call of AttemptTogether. Thread-safe.
struct Together {
  Together(std::vector<AcquireSpec> wishes, std::function<void(AttemptResults)> when_done)
      : specs(std::move(wishes)), done(std::move(when_done)) {}

  /// An attempt has ended: the last one settles the first, which stands for all.
  void End(std::size_t place, PendingAcquire& waiter) noexcept {
    AcquireProcedure& attempt = *attempts[place];
    AcquireResult result =
        attempt.lease ? attempt.TakeGranted() : Refused<AcquireResult>(attempt.TakeFailure());
    if (place == 0 && !TellsNothing(result.failure)) waiter.answered = true;
    std::unique_lock lock(mutex);
    if (settled) {
      lock.unlock();
      return GiveBack(std::move(result.grant));
    }
    results[place] = std::move(result);
    if (--left > 0) return;
    result = std::move(results.front());
    lock.unlock();
    waiter.Settle(std::move(result));
  }
  /// The first attempt is settled; perhaps before all have ended. Then those that were granted are
  /// given back at once, and the others at their end.
  void Settle(AcquireResult first, Events& events, std::chrono::nanoseconds waited) noexcept {
    std::unique_lock lock(mutex);
    settled = true;
    const bool complete = left == 0;
    AttemptResults all = std::move(results);
    lock.unlock();
    for (AcquireResult& other : all) {
      if (!complete) {
        GiveBack(std::move(other.grant));
      } else if (other.grant.lease) {
        events.Granted(*other.grant.lease, waited, false);
      }
    }
    all.front() = std::move(first);
    done(std::move(all));
  }

  const std::vector<AcquireSpec> specs;
  const std::function<void(AttemptResults)> done;
  std::vector<std::shared_ptr<AcquireProcedure>> attempts;
  std::mutex mutex;  ///< Guards what follows.
  AttemptResults results = AttemptResults(specs.size());
  std::size_t left = specs.size();  ///< How many attempts have not ended.
  bool settled = false;
};

/// Makes the attempts on this thread. `waiter`: of the first.
void AttemptHere(const EnginePtr& engine, const std::shared_ptr<Together>& all,
                 const PendingPtr& waiter) {
  if (waiter->settled()) return;
  for (const AcquireSpec& spec : all->specs) {
    all->attempts.push_back(
        std::make_shared<AcquireProcedure>(engine->leases(), spec, GiveUp(*engine)));
  }
  const std::vector<std::shared_ptr<Procedure>> procedures(all->attempts.begin(),
                                                           all->attempts.end());
  RunTogether(engine->calls(), procedures,
              [all, waiter, background = engine->Background()](std::size_t place) {
                all->End(place, *waiter);
              });
}

/// Searches once on a worker, for an asynchronous caller that does not wait.
void SearchLater(const EnginePtr& engine, const PendingPtr& search) {
  if (engine->closed()) return search->End(Errc::kCancelled);  // Close did not know of it
  engine->calls().searching().Run([engine, search, background = engine->Background()] {
    if (!search->settled()) search->Settle(SearchOnce(engine->leases(), search->spec, false));
  });
}

}  // namespace

AcquireSpec MakeSpec(const EnginePtr& engine, Collection& collection, const LockOptions& options,
                     Duration repository_ttl) {
  CheckLockOptions(options);
  AcquireSpec spec;
  spec.collection = &collection;
  spec.ttl = (options.ttl == kRepositoryTtl ? repository_ttl : options.ttl).ms();
  spec.wait = options.wait;
  spec.min_hold = options.min_hold.ms();
  spec.hold_while_waiting = options.hold_while_waiting;
  spec.renew = options.renew;
  spec.group = options.group;
  spec.mode = options.mode;
  spec.max_holders = options.max_holders;
  spec.owner = engine->owner();
  if (!options.owner.empty()) {
    auto owner = std::make_shared<LockHolder>(*engine->owner());
    owner->name = options.owner;
    spec.owner = std::move(owner);
  }
  return spec;
}

Grant::~Grant() {
  if (lease) Abandon(std::move(lease));
}

AcquireResult Acquire(const EnginePtr& engine, AcquireSpec spec, std::stop_token stop) {
  if (auto failure = NotNow(*engine, spec, Target::kDocument, stop))
    return Refused<AcquireResult>(std::move(failure));
  const TimePoint started = engine->Now();
  FailurePtr why;
  Uuid upsert_id{};
  if (!MayAskHere(*engine, spec, stop)) {
    return Wait(engine, std::move(spec), Target::kDocument, stop, started,
                [&](const PendingPtr& waiter) { Start(engine, waiter); });
  }
  if (!engine->waits().MustQueue(spec, spec.key.Hash())) {
    AcquireProcedure attempt(engine->leases(), spec, GiveUp(*engine));
    Run(engine->calls(), attempt);
    if (attempt.lease) {
      engine->events().Granted(*attempt.lease, engine->Now() - started, false);
      return attempt.TakeGranted();
    }
    why = attempt.TakeFailure();
    upsert_id = attempt.upsert_id();
    if (!WorthWaiting(spec, *why)) {
      if (why->code == Errc::kBusy) {
        engine->events().Busy(*spec.collection, spec.key, *why);
      }
      return Refused<AcquireResult>(std::move(why));
    }
  }
  return Wait(engine, std::move(spec), Target::kDocument, stop, started,
              [&](const PendingPtr& waiter) {
                waiter->upsert_id = upsert_id;
                engine->waits().Enqueue(waiter, std::move(why));
              });
}

AcquireHandle AcquireAsync(const EnginePtr& engine, AcquireSpec spec, AcquireDone done) {
  const auto waiter = std::make_shared<PendingAcquire>(
      engine->shared_waits(), std::move(spec), Target::kDocument, std::move(done), engine->Now());
  if (auto closed = NotNow(*engine, waiter->spec, Target::kDocument, {}))
    return EndLater(waiter, std::move(closed));
  engine->waits().pendings().Add(*waiter);
  StartOrForget(waiter, [&] { Start(engine, waiter); });
  return waiter;
}

AcquireHandle AttemptTogether(const EnginePtr& engine, std::vector<AcquireSpec> specs, bool here,
                              std::function<void(AttemptResults)> done) {
  const auto others_wait = [&](const AcquireSpec& spec) {
    return engine->waits().MustQueue(spec, spec.key.Hash());
  };
  specs.erase(std::ranges::find_if(specs, others_wait), specs.end());
  if (specs.size() > engine->traits().max_batch) specs.resize(engine->traits().max_batch);
  if (specs.size() < 2) {
    done({});
    return nullptr;
  }
  const auto all = std::make_shared<Together>(std::move(specs), std::move(done));
  const TimePoint started = engine->Now();
  const auto settle = [engine, all, started](AcquireResult first) {
    all->Settle(std::move(first), engine->events(), engine->Now() - started);
  };
  const auto waiter = std::make_shared<PendingAcquire>(engine->shared_waits(), all->specs.front(),
                                                       Target::kDocument, settle, started);
  waiter->once = true;
  engine->waits().pendings().Add(*waiter);
  StartOrForget(waiter, [&] {
    if (engine->closed()) return waiter->End(Errc::kCancelled);  // Close did not know of it
    if (here) return AttemptHere(engine, all, waiter);
    waiter->StartClock();
    engine->calls().batches().Run([engine, all, waiter, background = engine->Background()] {
      AttemptHere(engine, all, waiter);
    });
  });
  return waiter;
}

AttemptResults AttemptTogether(const EnginePtr& engine, std::vector<AcquireSpec> specs,
                               std::stop_token stop) {
  const auto waited = std::make_shared<Waited<AttemptResults>>(engine->runtime());
  const bool here = MayAskHere(*engine, specs.front(), stop);
  AcquireHandle waiter;
  const auto start = [&] {
    waiter = AttemptTogether(engine, std::move(specs), here,
                             [waited](AttemptResults results) { waited->Set(std::move(results)); });
  };
  return waited->After(start, stop, [&] {
    if (waiter) waiter->End(Errc::kCancelled);
  });
}

AcquireResult AcquireNext(const EnginePtr& engine, AcquireSpec spec, std::stop_token stop) {
  if (auto failure = NotNow(*engine, spec, Target::kAnyMatch, stop))
    return Refused<AcquireResult>(std::move(failure));
  const TimePoint started = engine->Now();
  if (MayAskHere(*engine, spec, stop)) {
    AcquireResult result = SearchOnce(engine->leases(), spec, false);
    if (const LeasePtr& lease = result.grant.lease) {
      engine->events().Granted(*lease, engine->Now() - started, false);
    }
    if (!result.failure || !WorthWaiting(spec, *result.failure, Target::kAnyMatch)) {
      return result;
    }
  }
  return Wait(engine, std::move(spec), Target::kAnyMatch, stop, started,
              [&](const PendingPtr& search) { engine->waits().Enqueue(search, nullptr); });
}

AcquireHandle AcquireNextAsync(const EnginePtr& engine, AcquireSpec spec, AcquireDone done) {
  const auto search = std::make_shared<PendingAcquire>(
      engine->shared_waits(), std::move(spec), Target::kAnyMatch, std::move(done), engine->Now());
  if (auto closed = NotNow(*engine, search->spec, Target::kAnyMatch, {}))
    return EndLater(search, std::move(closed));
  engine->waits().pendings().Add(*search);
  StartOrForget(search, [&] {
    search->fail_fast() ? SearchLater(engine, search) : engine->waits().Enqueue(search, nullptr);
  });
  return search;
}

void CancelAcquire(const AcquireHandle& waiter) noexcept {
  if (!waiter) return;
  waiter->table->calls().runtime().Post([waiter] { waiter->End(Errc::kCancelled); });
}

}  // namespace doclock::detail
