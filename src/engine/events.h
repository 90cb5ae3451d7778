#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "doclock/observer.h"
#include "doclock/runtime.h"
#include "engine/lease.h"

namespace doclock::detail {

/// Tells the Observer, on the notifier; costs one test where there is none. Thread-safe.
class Events {
 public:
  Events(std::shared_ptr<Observer> observer, Runtime& runtime)
      : observer_(std::move(observer)), runtime_(runtime) {}

  void Granted(const Lease&, std::chrono::nanoseconds waited, bool handed_over);
  void Busy(const Collection&, const Key&, Errc code, const LockHolder& holder);
  void Renewed(const Lease&);
  void RenewalFailing(const Lease&, std::chrono::nanoseconds remaining);
  void Lost(const Lease&);
  void Released(const Lease&, std::chrono::nanoseconds held);
  void Discarded(const Lease&, std::chrono::nanoseconds held);
  void InDoubt(const Collection&, const Key&);

 private:
  void Tell(const Collection&, const Key&, std::function<void(Observer&, const LockEvent&)> what);

  const std::shared_ptr<Observer> observer_;
  Runtime& runtime_;
};

}  // namespace doclock::detail
