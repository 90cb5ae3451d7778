#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "doclock/observer.h"
#include "doclock/runtime.h"
#include "engine/leases/lease.h"

namespace doclock::detail {

/// Calls the Observer, on the notifier; without an observer it costs one test. The queue for a slow
/// observer is bounded: further events are left out and counted. Thread-safe.
class Events {
 public:
  Events(std::shared_ptr<Observer> observer, Runtime& runtime)
      : observer_(observer ? std::make_shared<Listener>(std::move(observer)) : nullptr),
        runtime_(runtime) {}

  void Granted(const Lease&, std::chrono::nanoseconds waited, bool handed_over);
  void Busy(const Collection&, const Key&, Errc code, const LockHolder& holder);
  void Renewed(const Lease&);
  void RenewalFailing(const Lease&, std::chrono::nanoseconds remaining);
  void Lost(const Lease&);
  void Released(const Lease&, std::chrono::nanoseconds held);
  void Discarded(const Lease&, std::chrono::nanoseconds held);
  void InDoubt(const Collection&, const Key&);

 private:
  struct Listener {
    explicit Listener(std::shared_ptr<Observer> who) : observer(std::move(who)) {}
    const std::shared_ptr<Observer> observer;
    std::atomic<std::uint64_t> queued = 0;
    std::atomic<std::uint64_t> missed = 0;
  };
  using What = std::function<void(Observer&, const LockEvent&)>;

  /// Unless too much is queued.
  void Tell(const Collection&, const Key&, What what);
  /// However much is queued: a lost lock and doubt are never left out.
  void TellAnyway(const Collection&, const Key&, What what);

  const std::shared_ptr<Listener> observer_;
  Runtime& runtime_;
};

}  // namespace doclock::detail
