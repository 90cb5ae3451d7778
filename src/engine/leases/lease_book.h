#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "doclock/detail/engine.h"
#include "doclock/store/store.h"
#include "engine/calls/store_calls.h"
#include "engine/leases/events.h"
#include "engine/leases/keeper.h"

namespace doclock::detail {

/// The leases of the locks that this manager holds: makes, prolongs, loses and gives them back.
/// Thread-safe.
class LeaseBook : public std::enable_shared_from_this<LeaseBook> {
 public:
  /// @param engine what each handle keeps
  LeaseBook(std::shared_ptr<StoreCalls> calls, std::weak_ptr<Engine> engine);

  [[nodiscard]] StoreCalls& calls() noexcept { return *calls_; }
  [[nodiscard]] Events& events() noexcept { return events_; }
  [[nodiscard]] Keeper& keeper() noexcept { return *keeper_; }

  /// Makes the lease of a granted lock, and keeps it renewed. Null if it is over already, or the
  /// manager is closed: then the lock is released in the background. `passed_on`: it was granted
  /// from the store's queue, after `sent`.
  LeasePtr Make(const AcquireSpec& spec, const Key& key, const GrantRequest& grant,
                std::int64_t version, const Uuid& born, Body body, TimePoint sent,
                bool passed_on = false) noexcept;
  /// Records that the store has renewed the lease for `ttl`, by a request sent at `sent`. Returns
  /// true if the lease goes on; false if the lock was lost before the answer came. That is final,
  /// so the lock is released in the background: others need not wait until the new lease has ended.
  bool Prolong(Lease& lease, TimePoint sent, std::chrono::milliseconds ttl) noexcept;
  /// Declares the lease lost: it is over, or another client has the lock. Final.
  void Lose(Lease& lease) noexcept;
  /// Releases the lock of a lost lease that the store may hold for longer than the holder knew.
  void GiveBackLost(Lease& lease) noexcept;
  /// Releases a lock without a handle: tries until it is gone, or `until`.
  void GiveBack(const Lease& lease, TimePoint until) noexcept;

 private:
  /// The moment when a holder must stop whose grant or renewal was sent at `sent`: before another
  /// client can get the lock, by a tenth of a percent for clock drift and by the store's margin.
  [[nodiscard]] TimePoint DeadlineOf(TimePoint sent, std::chrono::milliseconds ttl) const noexcept;

  const std::shared_ptr<StoreCalls> calls_;
  const std::weak_ptr<Engine> engine_;
  Events events_;
  const std::shared_ptr<Keeper> keeper_;
};

/// The request to the store, under a fresh id.
GrantRequest MakeGrant(const AcquireSpec& spec);

/// For error texts: `what` was granted too late, and by how much the store's clocks may differ if
/// that can be the reason.
std::string GrantedTooLate(const Store& store, const std::string& what);

}  // namespace doclock::detail
