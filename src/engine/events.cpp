#include "engine/events.h"

#include <string>
#include <utility>

#include "engine/runtime/insist.h"

namespace doclock::detail {

namespace {

constexpr auto kEnded = [](Observer& o, const LockEvent& e) { o.OnEnded(e); };
constexpr auto kWaitEnded = [](Observer& o, const LockEvent& e) { o.OnWaitEnded(e); };

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

}  // namespace

template <class What>
bool Events::Tell(const Collection& collection, const Key& key, const What& what) noexcept {
  if (observer_->queued.load(std::memory_order_relaxed) >= kMaxQueued) {
    observer_->missed.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  return TellAnyway(collection, key, what);
}

template <class What>
bool Events::TellAnyway(const Collection& collection, const Key& key, const What& what) noexcept {
  observer_->queued.fetch_add(1, std::memory_order_relaxed);
  const bool told = Insist([&] {
    runtime_.Notify([listener = observer_, name = collection.name(), key, what] {
      listener->queued.fetch_sub(1, std::memory_order_relaxed);
      Observer& observer = *listener->observer;
      Shielded([&] { what(observer, LockEvent{name, key}); });
      if (listener->missed.load(std::memory_order_relaxed) == 0) return;
      const std::uint64_t missed = listener->missed.exchange(0, std::memory_order_relaxed);
      Shielded([&] { observer.OnMissed(missed); });
    });
  });
  if (told) return true;
  observer_->queued.fetch_sub(1, std::memory_order_relaxed);
  observer_->missed.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void Events::Granted(Lease& lease, std::chrono::nanoseconds waited, bool handed_over) noexcept {
  if (!observer_) return;
  const bool told =
      Tell(*lease.collection, lease.key, [waited, handed_over](Observer& o, const LockEvent& e) {
        o.OnGranted(e, waited, handed_over);
      });
  if (told && lease.told.Begin()) TellAnyway(*lease.collection, lease.key, kEnded);
}

void Events::Busy(const Collection& collection, const Key& key, Errc code,
                  const LockHolder& holder) noexcept {
  if (!observer_) return;
  Tell(collection, key,
       [code, holder](Observer& o, const LockEvent& e) { o.OnBusy(e, code, holder); });
}

void Events::Renewed(const Lease& lease) noexcept {
  if (!observer_) return;
  Tell(*lease.collection, lease.key, [](Observer& o, const LockEvent& e) { o.OnRenewed(e); });
}

void Events::RenewalFailing(const Lease& lease, std::chrono::nanoseconds remaining) noexcept {
  if (!observer_) return;
  Tell(*lease.collection, lease.key,
       [remaining](Observer& o, const LockEvent& e) { o.OnRenewalFailing(e, remaining); });
}

void Events::Lost(const Lease& lease) noexcept {
  if (!observer_) return;
  TellAnyway(*lease.collection, lease.key, [](Observer& o, const LockEvent& e) { o.OnLost(e); });
}

void Events::Released(const Lease& lease, std::chrono::nanoseconds held) noexcept {
  if (!observer_) return;
  Tell(*lease.collection, lease.key,
       [held](Observer& o, const LockEvent& e) { o.OnReleased(e, held); });
}

void Events::Discarded(const Lease& lease, std::chrono::nanoseconds held) noexcept {
  if (!observer_) return;
  Tell(*lease.collection, lease.key,
       [held](Observer& o, const LockEvent& e) { o.OnDiscarded(e, held); });
}

void Events::InDoubt(const Collection& collection, const Key& key) noexcept {
  if (!observer_) return;
  TellAnyway(collection, key, [](Observer& o, const LockEvent& e) { o.OnInDoubt(e); });
}

void Events::Ended(Lease& lease) noexcept {
  if (!observer_ || !lease.told.End()) return;
  TellAnyway(*lease.collection, lease.key, kEnded);
}

void Events::Waiting(ToldPair& pair, const Collection& collection, const Key& key) noexcept {
  if (!observer_ || !pair.IsNew()) return;
  const bool told = Tell(collection, key, [](Observer& o, const LockEvent& e) { o.OnWaiting(e); });
  if (told && pair.Begin()) TellAnyway(collection, key, kWaitEnded);
}

void Events::WaitEnded(ToldPair& pair, const Collection& collection, const Key& key) noexcept {
  if (!observer_ || !pair.End()) return;
  TellAnyway(collection, key, kWaitEnded);
}

}  // namespace doclock::detail
