#pragma once

#include <boost/intrusive/set.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "doclock/detail/engine.h"
#include "doclock/lock_manager.h"
#include "engine/leases/lease.h"

namespace doclock::detail {

class LeaseBook;

/// The lease keeper: one queue for all held locks, ordered by when they are due. It renews leases
/// at a third of their length, together with others that are due soon, in batches; and one that was
/// granted from the store's queue when half of it is over. It declares a lease that could not be
/// renewed in time lost at its deadline. It needs no thread per lock. Thread-safe.
class Keeper : public std::enable_shared_from_this<Keeper> {
 public:
  explicit Keeper(LeaseBook& book) : book_(book) {}
  ~Keeper();

  /// Starts to renew a lease that was just granted.
  void Add(Lease& lease) noexcept;
  /// Stops renewing it. Does nothing if it does not keep this lease.
  void Remove(Lease& lease) noexcept;
  /// Updates when the lease is due, after its deadline or its need for renewal changed.
  void Refresh(Lease& lease) noexcept;
  /// Stops all renewals, and declares every lease lost except those in a write, which may be a
  /// release.
  void StopRenewing() noexcept;
  /// Declares every remaining lease lost, and keeps no more.
  void Close() noexcept;

 private:
  struct RenewalBatch;
  using RenewalBatches = std::list<std::shared_ptr<RenewalBatch>>;
  struct DueLeases;
  using Due = boost::intrusive::multiset<Lease, boost::intrusive::compare<DueOrder>,
                                         boost::intrusive::constant_time_size<false>>;

  // These need the lock.
  void Queue(Lease& lease, TimePoint due, bool for_renewal) noexcept;
  void QueueHealthy(Lease& lease) noexcept;
  /// When a lease is due of which no renewal has failed.
  [[nodiscard]] TimePoint DueOf(const Lease& lease) const noexcept;
  void Arm(TimePoint when) noexcept;
  bool Unqueue(Lease& lease) noexcept;
  /// Moves what is due to `due_leases`.
  void TakeDue(DueLeases& due_leases, TimePoint now);

  void OnTimer() noexcept;
  void Renew(std::span<LeasePtr> due) noexcept;
  /// Sends waiting batches, as long as few enough are under way, so that ten thousand renewals do
  /// not take all lanes from callers, nor each other's time.
  void SendNext() noexcept;
  void Send(const std::shared_ptr<RenewalBatch>& batch) noexcept;
  void OnSent() noexcept;
  void OnRenewed(RenewalBatch& batch) noexcept;
  void RetryLater(Lease& lease) noexcept;
  void LoseAll(bool writing) noexcept;
  /// The next that LoseAll has to lose.
  LeasePtr TakeOne(bool writing) noexcept;

  LeaseBook& book_;
  std::mutex mutex_;
  Due queue_;
  TimePoint armed_ = TimePoint::max();
  Runtime::TimerId timer_ = 0;
  bool closed_ = false;     ///< No lease is added or renewed any more.
  RenewalBatches waiting_;  ///< batches to be sent
  int under_way_ = 0;       ///< batches that were sent
};

}  // namespace doclock::detail
