#include "engine/waiting/next_searches.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"
#include "engine/failure.h"
#include "engine/procedures/background_release.h"
#include "engine/runtime/jitter.h"

namespace doclock::detail {
namespace {

/// Hints may be lost, and a store may free the locks of a process that died.
constexpr std::chrono::milliseconds kLongestSleep = std::chrono::seconds(1);

FailurePtr NothingFree(const PendingAcquire& search, Errc code) {
  const std::string& where = search.spec.collection->name();
  if (code == Errc::kCancelled) {
    return MakeFailure(code,
                       [&] { return "the wait for a document of '" + where + "' was stopped"; });
  }
  return MakeFailure(Errc::kNotFound,
                     [&] { return "no free document of '" + where + "' matches"; });
}

/// Why the store could not search; no document was chosen yet.
FailurePtr NoSearch(const AcquireOp& op) {
  FailurePtr failure = FailureOf(op);
  if (failure.get_deleter().lasting) return failure;
  return FilledFailure(failure->code, [&](Failure& told) {
    told = std::move(*failure);
    told.document = nullptr;
    told.message = "the next document of '" + op.collection->name() + "' could not be looked for";
    if (op.detail && !op.detail->message.empty()) told.message += ": " + op.detail->message;
  });
}

bool IsSame(const Filter::Condition& a, const Filter::Condition& b) {
  return a.op == b.op && a.path == b.path && a.value.type() == b.value.type() && a.value == b.value;
}

/// Is there nothing for `b` if there is nothing for `a`?
bool WantsTheSame(const AcquireSpec& a, const AcquireSpec& b) {
  const auto& wanted = a.filter.conditions();
  const auto& other = b.filter.conditions();
  return a.mode == b.mode && a.max_holders == b.max_holders &&
         a.filter.lock_state() == b.filter.lock_state() &&
         std::equal(wanted.begin(), wanted.end(), other.begin(), other.end(), IsSame);
}

void AskStore(Engine& engine, const AcquireSpec& spec, AcquireOp& op, Key& key) noexcept {
  try {
    engine.store().AcquireNext(spec.filter, op, key, engine.options().call_budget.ms());
  } catch (...) {
    op.status = OpStatus::kInDoubt;
  }
  if (op.status == OpStatus::kPending) op.status = OpStatus::kInDoubt;
}

}  // namespace

void NextSearches::Start(const PendingPtr& search) noexcept {
  OrSettle(*search, [&] {
    search->StartClock();
    if (!search->fail_fast()) Subscribe(*search);
    Ask(search);
  });
}

template <class F>
void NextSearches::OrSettle(PendingAcquire& search, const F& act) noexcept {
  try {
    act();
  } catch (...) {
    Settle(search, {.failure = FailureOfCaught(), .grant = {}});
  }
}

void NextSearches::Subscribe(PendingAcquire& search) {
  engine_.hints().Enter(*search.spec.collection);
  const std::scoped_lock lock(mutex_);
  search.subscribed = true;
  ++waiting_;
}

void NextSearches::Ask(const PendingPtr& search) {
  Collection& collection = *search->spec.collection;
  std::uint64_t hint = 0;
  bool repeated = false;
  {
    const std::scoped_lock lock(mutex_);
    search->heard = sleepers_[&collection].hints;
    hint = std::exchange(search->hint, 0);
    repeated = search->answered;
  }
  if (search->settled()) {
    Unsubscribe(*search);
    return ForwardHint(*search, hint, false);
  }
  const AcquireSpec& spec = search->spec;
  const Key unknown;
  Key key;
  AcquireOp op(*spec.collection, unknown);
  op.request.grant = MakeGrant(spec);
  op.request.asks_free_in = repeated;
  const TimePoint sent = engine_.Now();
  AskStore(engine_, spec, op, key);
  if (op.status != OpStatus::kDone) ForwardHint(*search, hint, op.status == OpStatus::kMissing);
  AcquireResult result;
  switch (op.status) {
    case OpStatus::kDone:
      result.grant.body = op.result.body;
      result.grant.lease = engine_.MakeLease(spec, key, op.request.grant, op.result.version,
                                             op.result.born, op.result.body, sent);
      if (result.grant.lease) break;
      return List(search, MakeFailure(Errc::kUnavailable, [&] {
                    return GrantedTooLate(engine_,
                                          "a document of '" + spec.collection->name() + "'");
                  }));
    case OpStatus::kMissing:
      if (search->fail_fast()) {
        result.failure = NothingFree(*search, Errc::kNotFound);
        break;
      }
      return List(search, nullptr, op.result.free_in);
    case OpStatus::kInDoubt:
      result.failure = MakeFailure(Errc::kInDoubt, [&] {
        return "whether a document of '" + spec.collection->name() + "' was locked is unknown";
      });
      engine_.events().InDoubt(*spec.collection, *op.key);
      // The lock of an unknown document ends with its lease.
      if (op.key == &key) {
        ReleaseInBackground(engine_, *spec.collection, key, op.request.grant.lock_id,
                            op.request.grant.mode, sent + spec.ttl, Ghost::kYes);
      }
      break;
    default:
      result.failure = op.key == &key ? FailureOf(op) : NoSearch(op);
      if (result.failure->code == Errc::kUnavailable && !search->fail_fast()) {
        return List(search, std::move(result.failure));
      }
  }
  Settle(*search, std::move(result));
}

void NextSearches::Settle(PendingAcquire& search, AcquireResult result) noexcept {
  Unsubscribe(search);
  search.Settle(std::move(result));
}

void NextSearches::AskOnWorker(const PendingPtr& search) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    search->asked_when = engine_.Now();
  }
  OrSettle(*search, [&] {
    engine_.searching().Run([self = shared_from_this(), search, engine = search->engine] {
      self->OrSettle(*search, [&] { self->Ask(search); });
    });
  });
}

void NextSearches::List(const PendingPtr& search, FailurePtr outage,
                        std::optional<std::chrono::milliseconds> free_in) {
  search->BeginWaiting();
  const TimePoint now = engine_.Now();
  {
    const std::scoped_lock lock(mutex_);
    search->outage = std::move(outage);
    search->asked_when.reset();
    search->answered = true;
  }
  if (now >= search->deadline) return End(*search, Errc::kTimedOut);
  std::chrono::milliseconds pause = Jitter(engine_.options().poll_min, engine_.options().poll_max);
  if (free_in) {
    // The store tells all that ends, and gives a hint of all that is written.
    const bool heard = engine_.hints().Heard(*search->spec.collection);
    if (heard) pause = std::max(pause, Jitter(kLongestSleep * 3 / 4, kLongestSleep));
    pause = std::min(pause, std::max(*free_in, std::chrono::milliseconds(1)));
  }
  const TimePoint poll = now + pause;
  bool again = false;
  {
    const std::scoped_lock lock(mutex_);
    Sleepers& sleepers = sleepers_[search->spec.collection];
    again = sleepers.unheard > search->heard;
    if (!again) {
      std::list<PendingPtr> node{search};
      search->poll = engine_.runtime().Schedule(
          poll, [weak = std::weak_ptr(search), table = weak_from_this()] {
            const auto due = weak.lock();
            const auto self = table.lock();
            if (due && self && self->Unlist(*due)) self->AskOnWorker(due);
          });
      search->where = node.begin();
      search->queue_state = PendingAcquire::QueueState::kQueued;
      sleepers.searches.splice(sleepers.searches.end(), node);
    }
  }
  if (engine_.closed()) return End(*search, Errc::kCancelled);
  if (again) AskOnWorker(search);
}

bool NextSearches::Unlist(PendingAcquire& search) noexcept {
  const std::scoped_lock lock(mutex_);
  if (search.queue_state != PendingAcquire::QueueState::kQueued) return false;
  TakeOut(sleepers_[search.spec.collection], search);
  return true;
}

void NextSearches::TakeOut(Sleepers& sleepers, PendingAcquire& search) noexcept {
  search.queue_state = PendingAcquire::QueueState::kNotQueued;
  engine_.runtime().Cancel(std::exchange(search.poll, 0));
  sleepers.searches.erase(search.where);
}

void NextSearches::Unsubscribe(PendingAcquire& search) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(search.subscribed, false)) return;
    --waiting_;
  }
  engine_.hints().Leave(*search.spec.collection);
}

void NextSearches::End(PendingAcquire& search, Errc code) noexcept {
  const PendingPtr keep = search.shared_from_this();
  Unlist(search);
  FailurePtr failure;
  if (code == Errc::kTimedOut) {
    const std::scoped_lock lock(mutex_);
    failure = std::move(search.outage);
    const bool silent = search.asked_when && engine_.Now() - *search.asked_when >= kSilence;
    if (!failure && silent) failure = search.NoAnswer();
  }
  if (!failure) failure = NothingFree(search, code);
  Settle(search, {.failure = std::move(failure), .grant = {}});
}

void NextSearches::OnHint(Collection& collection) noexcept {
  std::uint64_t hint = 0;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = sleepers_.find(&collection);
    if (found == sleepers_.end()) return;
    hint = ++found->second.hints;
  }
  Wake(collection, hint);
}

void NextSearches::Wake(Collection& collection, std::uint64_t hint) noexcept {
  PendingPtr first;
  {
    const std::scoped_lock lock(mutex_);
    Sleepers& sleepers = sleepers_[&collection];
    const auto& searches = sleepers.searches;
    const auto found = std::find_if(searches.begin(), searches.end(),
                                    [&](const PendingPtr& search) { return search->heard < hint; });
    if (found == searches.end()) {
      sleepers.unheard = std::max(sleepers.unheard, hint);
      return;
    }
    first = *found;
    first->hint = hint;
    TakeOut(sleepers, *first);
  }
  AskOnWorker(first);
}

void NextSearches::ForwardHint(const PendingAcquire& search, std::uint64_t hint,
                               bool missing) noexcept {
  if (hint == 0) return;
  if (missing) {
    const std::scoped_lock lock(mutex_);
    for (const PendingPtr& other : sleepers_[search.spec.collection].searches) {
      if (other->heard < search.heard && WantsTheSame(search.spec, other->spec)) {
        other->heard = search.heard;  // its answer is known
      }
    }
  }
  Wake(*search.spec.collection, hint);
}

}  // namespace doclock::detail
