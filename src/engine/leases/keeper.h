#pragma once

#include <boost/intrusive/set.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

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
  void Refresh(Lease& lease);
  /// Renews no more, and declares every lease lost but those in a write: that may be its release.
  void StopRenewing();
  /// Declares every lease lost that is left, and looks after no more.
  void Close();

 private:
  struct Round;
  using Due = boost::intrusive::multiset<Lease, boost::intrusive::compare<DueOrder>,
                                         boost::intrusive::constant_time_size<false>>;

  // These need the lock.
  void Queue(Lease& lease, TimePoint due, bool for_renewal);
  void QueueHealthy(Lease& lease);
  bool Unqueue(Lease& lease) noexcept;
  void Arm(TimePoint when);
  void OnTimer();
  void Renew(std::span<LeasePtr> due);
  /// Sends what waits, as long as few enough rounds are under way: so that ten thousand renewals do
  /// not take every lane from callers, nor each other's time.
  void SendNext();
  void OnRenewed(Round& round);
  void RetryLater(Lease& lease);
  void LoseAll(bool writing);

  Engine& engine_;
  std::mutex mutex_;
  Due queue_;
  TimePoint armed_ = TimePoint::max();
  Runtime::TimerId timer_ = 0;
  bool closed_ = false;                         ///< No lease is added or renewed any more.
  std::deque<std::shared_ptr<Round>> waiting_;  ///< rounds to be sent
  int under_way_ = 0;                           ///< rounds that were sent
};

}  // namespace doclock::detail
