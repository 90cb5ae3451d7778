#include "engine/events.h"

#include <string>
#include <utility>

namespace doclock::detail {

void Events::Tell(const Collection& collection, const Key& key,
                  std::function<void(Observer&, const LockEvent&)> what) {
  runtime_.Notify([observer = observer_, name = collection.name(), key, what = std::move(what)] {
    try {
      what(*observer, LockEvent{name, key});
    } catch (...) {
      // An observer's own trouble is not the lock's.
    }
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
  Tell(*lease.collection, lease.key, [](Observer& o, const LockEvent& e) { o.OnLost(e); });
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
  Tell(collection, key, [](Observer& o, const LockEvent& e) { o.OnInDoubt(e); });
}

}  // namespace doclock::detail
