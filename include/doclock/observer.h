#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/key.h"

namespace doclock {

/// One document, as an Observer sees it. Valid during the call only.
struct LockEvent {
  std::string_view collection;  ///< Where.
  const Key& key;               ///< Which; empty for a LockNext() that got no document.
};

/// Told what happens to locks: for metrics and logs. Override what you need.
///
/// Calls come one at a time, in order per lock, on the manager's notifier thread: never on a
/// thread that renews leases, so a slow observer delays other observers' calls and `lost()`
/// callbacks only. It may call back into the library, but must not destroy the last LockManager.
/// Exceptions are swallowed. No event carries a lock id, a body or a store's URL.
class DOCLOCK_EXPORT Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer();

  /// A lock was granted after `waited`. `handed_over`: directly from a holder in this process.
  virtual void OnGranted(const LockEvent&, std::chrono::nanoseconds waited, bool handed_over);
  /// A caller was told that the lock is busy, or its wait ended (code: kBusy, kTimedOut,
  /// kCancelled).
  virtual void OnBusy(const LockEvent&, Errc code, const LockHolder& holder);
  /// A lease was renewed.
  virtual void OnRenewed(const LockEvent&);
  /// A renewal failed; the lease still has `remaining`, and renewing goes on.
  virtual void OnRenewalFailing(const LockEvent&, std::chrono::nanoseconds remaining);
  /// A lease was lost.
  virtual void OnLost(const LockEvent&);
  /// A lock was released after `held`, or its document erased. Of a named lock: however it was
  /// given back.
  virtual void OnReleased(const LockEvent&, std::chrono::nanoseconds held);
  /// A lock was given up after `held`, its changes not written: by Discard(), or by destroying the
  /// handle. Where the store is away just then, unlocking goes on in the background.
  virtual void OnDiscarded(const LockEvent&, std::chrono::nanoseconds held);
  /// So many calls were left out, because this observer was thousands of them behind. OnLost and
  /// OnInDoubt are never left out.
  virtual void OnMissed(std::uint64_t calls);
  /// The outcome of a write could not be found out.
  virtual void OnInDoubt(const LockEvent&);
};

}  // namespace doclock
