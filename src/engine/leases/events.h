#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "doclock/lock_manager.h"
#include "doclock/observer.h"
#include "engine/leases/lease.h"

namespace doclock::detail {

/// How the handle of a granted lock has ended, for the Observer.
enum class Ending : std::uint8_t {
  kLost,
  kReleased,   ///< Or its document was erased.
  kDiscarded,  ///< Released without writing changes.
  kOther,      ///< Detached, or in doubt.
};

/// Calls the Observer, on the notifier; without an observer it costs one test. The queue for a slow
/// observer is bounded: further events are left out and counted. Thread-safe.
class Events {
 public:
  Events(std::shared_ptr<Observer> observer, Runtime& runtime)
      : observer_(observer ? std::make_shared<Listener>(std::move(observer)) : nullptr),
        runtime_(runtime) {}

  void Granted(Lease&, std::chrono::nanoseconds waited, bool handed_over) noexcept;
  /// `why` is the caller's error code.
  void Busy(const Collection&, const Key&, const Failure& why) noexcept;
  void Renewed(Lease&) noexcept;
  void RenewalFailing(Lease&, std::chrono::nanoseconds remaining) noexcept;
  /// The handle of a lock has ended. Only the first call for a lease tells anything: what is lost
  /// is not released afterwards.
  void Ended(Lease&, Ending how) noexcept;
  void InDoubt(const Collection&, const Key&) noexcept;
  /// `ahead`: see LockException::waiting.
  void Waiting(ToldPair&, const Collection&, const Key&, std::optional<int> ahead) noexcept;
  void WaitEnded(ToldPair&, const Collection&, const Key&) noexcept;

 private:
  struct Listener {
    explicit Listener(std::shared_ptr<Observer> who) : observer(std::move(who)) {}
    const std::shared_ptr<Observer> observer;
    std::atomic<std::uint64_t> queued = 0;
    std::atomic<std::uint64_t> missed = 0;
  };

  /// `make` makes what calls the observer. Returns true if the event is queued; false if it is left
  /// out and counted, because too much is.
  template <class Make>
  bool Tell(const Make& make) noexcept;
  /// Ignores the bound: a lost lock and doubt are not left out, nor the end of what the observer
  /// saw begin.
  template <class Make>
  void TellAnyway(const Make& make) noexcept;
  /// `with_end`: the observer saw the grant.
  void TellEnding(Lease&, Ending how, bool with_end) noexcept;

  const std::shared_ptr<Listener> observer_;
  Runtime& runtime_;
};

}  // namespace doclock::detail
