#include "engine/events.h"

#include <string>
#include <utility>

namespace doclock::detail {

namespace {

/// Events that wait for the observer, at most: about 3 MB.
constexpr std::uint64_t kMaxQueued = 10'000;

template <class Call>
void Shielded(const Call& call) noexcept {
  try {
    call();
  } catch (...) {
    // An observer's own trouble is not the lock's.
  }
}

}  // namespace

void Events::Tell(const Collection& collection, const Key& key, What what) {
  if (observer_->queued.load(std::memory_order_relaxed) < kMaxQueued) {
    TellAnyway(collection, key, std::move(what));
  } else {
    observer_->missed.fetch_add(1, std::memory_order_relaxed);
  }
}

void Events::TellAnyway(const Collection& collection, const Key& key, What what) {
  observer_->queued.fetch_add(1, std::memory_order_relaxed);
  runtime_.Notify([listener = observer_, name = collection.name(), key, what = std::move(what)] {
    listener->queued.fetch_sub(1, std::memory_order_relaxed);
    Observer& observer = *listener->observer;
    Shielded([&] { what(observer, LockEvent{name, key}); });
    if (listener->missed.load(std::memory_order_relaxed) == 0) return;
    const std::uint64_t missed = listener->missed.exchange(0, std::memory_order_relaxed);
    Shielded([&] { observer.OnMissed(missed); });
  });
}

void Events::Granted(const Lease& lease, std::chrono::nanoseconds waited, bool handed_over) {
  if (!observer_) return;
  Tell(*lease.collection, lease.key, [waited, handed_over](Observer& o, const LockEvent& e) {
    o.OnGranted(e, waited, handed_over);
  });
}

void Events::Busy(const Collection& collection, const Key& key, Errc code,
                  const LockHolder& holder) {
  if (!observer_) return;
  Tell(collection, key,
       [code, holder](Observer& o, const LockEvent& e) { o.OnBusy(e, code, holder); });
}

void Events::Renewed(const Lease& lease) {
  if (!observer_) return;
  Tell(*lease.collection, lease.key, [](Observer& o, const LockEvent& e) { o.OnRenewed(e); });
}

void Events::RenewalFailing(const Lease& lease, std::chrono::nanoseconds remaining) {
  if (!observer_) return;
  Tell(*lease.collection, lease.key,
       [remaining](Observer& o, const LockEvent& e) { o.OnRenewalFailing(e, remaining); });
}

void Events::Lost(const Lease& lease) {
  if (!observer_) return;
  TellAnyway(*lease.collection, lease.key, [](Observer& o, const LockEvent& e) { o.OnLost(e); });
}

void Events::Released(const Lease& lease, std::chrono::nanoseconds held) {
  if (!observer_) return;
  Tell(*lease.collection, lease.key,
       [held](Observer& o, const LockEvent& e) { o.OnReleased(e, held); });
}

void Events::Discarded(const Lease& lease, std::chrono::nanoseconds held) {
  if (!observer_) return;
  Tell(*lease.collection, lease.key,
       [held](Observer& o, const LockEvent& e) { o.OnDiscarded(e, held); });
}

void Events::InDoubt(const Collection& collection, const Key& key) {
  if (!observer_) return;
  TellAnyway(collection, key, [](Observer& o, const LockEvent& e) { o.OnInDoubt(e); });
}

}  // namespace doclock::detail
