#pragma once

#include <boost/intrusive/set.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "doclock/detail/engine.h"
#include "doclock/runtime.h"
#include "engine/leases/lease.h"

namespace doclock::detail {

/// The lease keeper: one due-queue for every held lock. What is due within a little while is
/// renewed together, in batches, at a third of the lease; what could not be renewed in time is
/// declared lost at its deadline. Never a thread per lock. Thread-safe.
class Keeper : public std::enable_shared_from_this<Keeper> {
 public:
  explicit Keeper(Engine& engine) : engine_(engine) {}
  ~Keeper();

  /// Starts to look after a lease that was just granted.
  void Add(Lease& lease);
  /// Stops. Does nothing when it does not look after it.
  void Remove(Lease& lease) noexcept;
  /// Changes when to look at it next, after its deadline or its wish to be renewed changed.
  void Refresh(Lease& lease) noexcept;
  /// Its handle is gone, and memory ran out before the lock could be given back: renews it no more,
  /// and tries again when it next looks at it.
  void Abandoned(Lease& lease) noexcept;
  /// Renews no more, and declares every lease lost but those in a write: that may be its release.
  void StopRenewing() noexcept;
  /// Declares every lease lost that is left, and looks after no more.
  void Close() noexcept;

 private:
  struct Round;
  using Rounds = std::list<std::shared_ptr<Round>>;
  struct Looked;
  using Due = boost::intrusive::multiset<Lease, boost::intrusive::compare<DueOrder>,
                                         boost::intrusive::constant_time_size<false>>;

  // These need the lock. False: there is no memory for the timer.
  bool Queue(Lease& lease, TimePoint due, bool for_renewal) noexcept;
  bool QueueHealthy(Lease& lease) noexcept;
  bool Arm(TimePoint when) noexcept;
  bool Unqueue(Lease& lease) noexcept;
  /// Moves what is due to `looked`.
  void TakeDue(Looked& looked, TimePoint now);

  void OnTimer() noexcept;
  void Renew(std::span<LeasePtr> due) noexcept;
  /// Sends what waits, as long as few enough rounds are under way: so that ten thousand renewals do
  /// not take every lane from callers, nor each other's time.
  void SendNext() noexcept;
  void Send(const std::shared_ptr<Round>& round);
  void OnSent() noexcept;
  void OnRenewed(Round& round) noexcept;
  void RetryLater(Lease& lease) noexcept;
  void LoseAll(bool writing) noexcept;
  /// The next that LoseAll has to lose.
  LeasePtr TakeOne(bool writing) noexcept;

  Engine& engine_;
  std::mutex mutex_;
  Due queue_;
  TimePoint armed_ = TimePoint::max();
  Runtime::TimerId timer_ = 0;
  bool closed_ = false;  ///< No lease is added or renewed any more.
  Rounds waiting_;       ///< rounds to be sent
  int under_way_ = 0;    ///< rounds that were sent
};

}  // namespace doclock::detail
