#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
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

  void Granted(Lease&, std::chrono::nanoseconds waited, bool handed_over) noexcept;
  void Busy(const Collection&, const Key&, Errc code, const LockHolder& holder) noexcept;
  void Renewed(const Lease&) noexcept;
  void RenewalFailing(const Lease&, std::chrono::nanoseconds remaining) noexcept;
  void Lost(const Lease&) noexcept;
  void Released(const Lease&, std::chrono::nanoseconds held) noexcept;
  void Discarded(const Lease&, std::chrono::nanoseconds held) noexcept;
  void InDoubt(const Collection&, const Key&) noexcept;
  /// The handle of a lock has ended. May be called again.
  void Ended(Lease&) noexcept;
  void Waiting(ToldPair&, const Collection&, const Key&) noexcept;
  void WaitEnded(ToldPair&, const Collection&, const Key&) noexcept;

 private:
  struct Listener {
    explicit Listener(std::shared_ptr<Observer> who) : observer(std::move(who)) {}
    const std::shared_ptr<Observer> observer;
    std::atomic<std::uint64_t> queued = 0;
    std::atomic<std::uint64_t> missed = 0;
  };

  /// `what` gets the observer and the event. False: the event is left out and counted, because too
  /// much is queued or memory has run out.
  template <class What>
  bool Tell(const Collection&, const Key&, const What& what) noexcept;
  /// Ignores the bound: while there is memory, a lost lock and doubt are not left out, nor the end
  /// of what the observer was told to begin. False: memory has run out.
  template <class What>
  bool TellAnyway(const Collection&, const Key&, const What& what) noexcept;

  const std::shared_ptr<Listener> observer_;
  Runtime& runtime_;
};

}  // namespace doclock::detail
