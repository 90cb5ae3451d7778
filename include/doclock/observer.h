#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/key.h"

namespace doclock {

/// One document, as an Observer sees it. Valid during the call only.
struct LockEvent {
  std::string_view collection;  ///< The collection's name.
  const Key& key;               ///< The key; empty for a LockNext() that got no document.
  /// In OnBusy and OnWaiting: as LockException::waiting() tells it. Empty in other calls.
  std::optional<int> waiting = {};
};

/// Receives what happens to locks, for metrics and logs. Override what you need.
///
/// Calls come one at a time, on the manager's notifier thread. Those of one grant come in order;
/// the next grant of the lock, by another thread, may be reported before the end of the earlier
/// one. Of OnLost, OnReleased and OnDiscarded there is at most one for each OnGranted: a release
/// that comes through although the lock was lost meanwhile is not reported.
///
/// The notifier never renews leases, so a slow observer delays only other observers' calls and
/// `lost()` callbacks. An observer may call the library, but must not destroy the last LockManager.
/// Its exceptions are swallowed. No event carries a lock id, a body or a store's URL.
class DOCLOCK_EXPORT Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer();

  /// A lock was granted after `waited`. `handed_over`: a holder in this process handed it over.
  virtual void OnGranted(const LockEvent&, std::chrono::nanoseconds waited, bool handed_over);
  /// A caller met a busy lock, or its wait ended (code: kBusy, kTimedOut, kCancelled).
  virtual void OnBusy(const LockEvent&, Errc code, const LockHolder& holder);
  /// A lease was renewed.
  virtual void OnRenewed(const LockEvent&);
  /// A renewal failed. The lease still has `remaining`, which is more than zero, and the library
  /// tries again.
  virtual void OnRenewalFailing(const LockEvent&, std::chrono::nanoseconds remaining);
  /// A lease was lost.
  virtual void OnLost(const LockEvent&);
  /// A lock was released after `held`, or its document erased. A named lock is reported here
  /// however it was released.
  virtual void OnReleased(const LockEvent&, std::chrono::nanoseconds held);
  /// A lock was released after `held` without writing changes: by Discard(), or by the handle's
  /// destructor. If the store is unavailable just then, the release goes on in the background.
  virtual void OnDiscarded(const LockEvent&, std::chrono::nanoseconds held);
  /// This many calls were left out, because this observer was thousands of calls behind. OnLost and
  /// OnInDoubt are never left out, nor are OnEnded and OnWaitEnded, unless the OnGranted or
  /// OnWaiting before them was left out: then they are too, and are not counted.
  virtual void OnMissed(std::uint64_t calls);
  /// The outcome of a write is unknown.
  virtual void OnInDoubt(const LockEvent&);
  /// The handle of a granted lock has ended: the lock was released, discarded, erased, detached or
  /// lost, or a write is in doubt. Called once for each OnGranted, after it, and after the call
  /// that says what happened. Grants minus ends are the locks that this manager holds.
  virtual void OnEnded(const LockEvent&);
  /// A caller began to wait: the lock is busy, or others come first. A caller with `wait` = 0 does
  /// not wait.
  virtual void OnWaiting(const LockEvent&);
  /// A caller waits no longer, whatever it got. Called once for each OnWaiting, after it, and
  /// before the OnGranted or OnBusy that follows.
  virtual void OnWaitEnded(const LockEvent&);
};

}  // namespace doclock
