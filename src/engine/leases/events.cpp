#include "engine/leases/events.h"

#include <string>
#include <utility>

namespace doclock::detail {

namespace {

/// The most events that wait for the observer: about 3 MB.
constexpr std::uint64_t kMaxQueued = 10'000;

template <class Call>
void Shielded(const Call& call) noexcept {
  try {
    call();
  } catch (...) {
    // An error of the observer must not affect the lock.
  }
}

/// Makes a call that tells what happened to a document.
template <class What>
auto Of(const Collection& collection, const Key& key, const What& what) noexcept {
  return [&] {
    return [name = collection.name(), key, what](Observer& o) { what(o, LockEvent{name, key}); };
  };
}

LockEvent EventOf(const Lease& lease) noexcept { return {lease.collection->name(), lease.key}; }

/// Makes a call in the life of a lease. It does nothing once the observer was called for the end:
/// another thread may have queued that first.
template <class What>
auto During(Lease& lease, const What& what) noexcept {
  return [&] {
    return [keep = LeasePtr(&lease), what](Observer& o) {
      if (!keep->end_was_told) what(o, EventOf(*keep));
    };
  };
}

/// Makes a call for its end.
template <class What>
auto AtEnd(Lease& lease, const What& what) noexcept {
  return [&] {
    return [keep = LeasePtr(&lease), what](Observer& o) {
      keep->end_was_told = true;
      what(o, EventOf(*keep));
    };
  };
}

constexpr auto kWaitEnded = [](Observer& o, const LockEvent& e) { o.OnWaitEnded(e); };

}  // namespace

template <class Make>
bool Events::Tell(const Make& make) noexcept {
  if (observer_->queued.load(std::memory_order_relaxed) >= kMaxQueued) {
    observer_->missed.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  TellAnyway(make);
  return true;
}

template <class Make>
void Events::TellAnyway(const Make& make) noexcept {
  observer_->queued.fetch_add(1, std::memory_order_relaxed);
  runtime_.Notify([listener = observer_, call = make()] {
    listener->queued.fetch_sub(1, std::memory_order_relaxed);
    Observer& observer = *listener->observer;
    Shielded([&] { call(observer); });
    if (listener->missed.load(std::memory_order_relaxed) == 0) return;
    const std::uint64_t missed = listener->missed.exchange(0, std::memory_order_relaxed);
    Shielded([&] { observer.OnMissed(missed); });
  });
}

void Events::Granted(Lease& lease, std::chrono::nanoseconds waited, bool handed_over) noexcept {
  if (!observer_) return;
  const auto what = [waited, handed_over](Observer& o, const LockEvent& e) {
    o.OnGranted(e, waited, handed_over);
  };
  const bool told = Tell(Of(*lease.collection, lease.key, what));
  // It was lost before its grant was reported.
  if (lease.told.Begin(told) == ToldState::kEnd) TellEnding(lease, Ending::kLost, told);
}

void Events::Busy(const Collection& collection, const Key& key, const Failure& why) noexcept {
  if (!observer_) return;
  Tell([&] {
    return [name = collection.name(), key, code = why.code, holder = why.holder,
            waiting = why.waiting](Observer& o) {
      o.OnBusy({name, key, waiting}, code, holder);
    };
  });
}

void Events::Renewed(Lease& lease) noexcept {
  if (!observer_) return;
  Tell(During(lease, [](Observer& o, const LockEvent& e) { o.OnRenewed(e); }));
}

void Events::RenewalFailing(Lease& lease, std::chrono::nanoseconds remaining) noexcept {
  if (!observer_) return;
  Tell(During(lease,
              [remaining](Observer& o, const LockEvent& e) { o.OnRenewalFailing(e, remaining); }));
}

void Events::Ended(Lease& lease, Ending how) noexcept {
  if (!observer_) return;
  const ToldState before = lease.told.End();
  if (before == ToldState::kNothing || before == ToldState::kEnd) return;
  TellEnding(lease, how, before == ToldState::kBeginning);
}

void Events::TellEnding(Lease& lease, Ending how, bool with_end) noexcept {
  const auto held = runtime_.Now() - lease.granted;
  if (how == Ending::kLost) {
    TellAnyway(AtEnd(lease, [](Observer& o, const LockEvent& e) { o.OnLost(e); }));
  } else if (how == Ending::kReleased) {
    Tell(AtEnd(lease, [held](Observer& o, const LockEvent& e) { o.OnReleased(e, held); }));
  } else if (how == Ending::kDiscarded) {
    Tell(AtEnd(lease, [held](Observer& o, const LockEvent& e) { o.OnDiscarded(e, held); }));
  }
  if (!with_end) return;
  TellAnyway(AtEnd(lease, [](Observer& o, const LockEvent& e) { o.OnEnded(e); }));
}

void Events::InDoubt(const Collection& collection, const Key& key) noexcept {
  if (!observer_) return;
  TellAnyway(Of(collection, key, [](Observer& o, const LockEvent& e) { o.OnInDoubt(e); }));
}

void Events::Waiting(ToldPair& pair, const Collection& collection, const Key& key,
                     std::optional<int> ahead) noexcept {
  if (!observer_ || !pair.IsNew()) return;
  const auto what = [ahead](Observer& o, const LockEvent& e) {
    o.OnWaiting({e.collection, e.key, ahead});
  };
  const bool told = Tell(Of(collection, key, what));
  if (told && pair.Begin(true) == ToldState::kEnd) TellAnyway(Of(collection, key, kWaitEnded));
}

void Events::WaitEnded(ToldPair& pair, const Collection& collection, const Key& key) noexcept {
  if (!observer_ || pair.End() != ToldState::kBeginning) return;
  TellAnyway(Of(collection, key, kWaitEnded));
}

}  // namespace doclock::detail
