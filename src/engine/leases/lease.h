#pragma once

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <chrono>
#include <cstdint>
#include <stop_token>

#include "doclock/detail/engine.h"
#include "doclock/store/store.h"
#include "doclock/time.h"
#include "engine/leases/probation.h"
#include "engine/leases/told_pair.h"

namespace doclock::detail {

/// The phase in the life of a lock's handle. Loss is separate (`lost()`), because it can happen
/// while a write is under way.
enum class Phase : std::uint8_t {
  kHeld,      ///< The handle may write.
  kWriting,   ///< A write is under way.
  kReleased,  ///< Released, discarded or erased.
  kDetached,  ///< Left to its lease.
  kInDoubt,   ///< A release whose outcome is unknown.
};

/// One held lock, shared by its handle, the lease keeper and the operations under way.
///
/// `version`, `body` and `renewed` belong to the thread that moved the phase to kWriting; the rest
/// is constant or atomic. Kept small: there may be millions.
class Lease : public boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>> {
 public:
  /// @param now when the grant is known here
  Lease(EnginePtr engine, const AcquireSpec& spec, Key key, const GrantRequest& grant,
        std::int64_t version, const Uuid& born, Body body, TimePoint now, TimePoint deadline,
        bool passed_on);
  ~Lease();

  const EnginePtr engine;
  Collection* const collection;
  const Key key;
  const Uuid lock_id;
  const Uuid born;  ///< The document's incarnation; nil: unknown.
  const std::int64_t fence;
  const TimePoint granted;  ///< When the grant was known here.

  std::int64_t version;
  Body body;
  TimePoint due{};  ///< When the keeper checks it next. Guarded by the keeper's mutex.

  [[nodiscard]] std::chrono::milliseconds ttl() const noexcept {
    return std::chrono::milliseconds(ttl_ms_.load(std::memory_order_relaxed));
  }
  /// For renewals from now on.
  void set_ttl(std::chrono::milliseconds ttl) noexcept {
    ttl_ms_.store(static_cast<std::uint32_t>(ttl.count()), std::memory_order_relaxed);
  }
  [[nodiscard]] std::chrono::milliseconds min_hold() const noexcept {
    return std::chrono::milliseconds(min_hold_ms_);
  }
  /// Was it granted from the store's queue, and not renewed since? Then it is as short as
  /// kProbation, and counts from a moment before the grant.
  [[nodiscard]] bool on_probation() const noexcept {
    return on_probation_.load(std::memory_order_relaxed);
  }
  /// How long the lease that the store has now is.
  [[nodiscard]] std::chrono::milliseconds length() const noexcept {
    return on_probation() ? ProbationOf(ttl()) : ttl();
  }
  /// A lease on probation is renewed once in any case.
  [[nodiscard]] bool renews() const noexcept { return keeps_renewing() || on_probation(); }
  [[nodiscard]] bool keeps_renewing() const noexcept {
    return renews_.load(std::memory_order_relaxed);
  }
  void StopRenewing() noexcept {
    renews_.store(false, std::memory_order_relaxed);
    on_probation_.store(false, std::memory_order_relaxed);
  }
  [[nodiscard]] bool renewed() const noexcept { return renewed_.load(std::memory_order_relaxed); }

  /// The moment the holder must stop.
  [[nodiscard]] TimePoint deadline() const noexcept {
    return TimePoint(std::chrono::nanoseconds(deadline_.load(std::memory_order_acquire)));
  }
  /// Records a confirmed renewal: the deadline moves, never back.
  void Extend(TimePoint deadline) noexcept;

  /// Until when the store may hold the lock, by a renewal in doubt: not before the deadline.
  [[nodiscard]] TimePoint stored_until() const noexcept;
  void NoteStoredUntil(TimePoint when) noexcept;

  [[nodiscard]] Phase phase() const noexcept { return phase_.load(std::memory_order_acquire); }
  void set_phase(Phase phase) noexcept { phase_.store(phase, std::memory_order_release); }
  /// Held → Writing. Returns true then; false in any other phase.
  bool BeginWrite() noexcept;
  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }

  /// Marks it lost for good; true the first time. FireLost runs the callbacks.
  bool MarkLost() noexcept { return !lost_.exchange(true, std::memory_order_acq_rel); }
  /// Runs the callbacks of lost(): on the notifier only.
  void FireLost();
  /// A token that is stopped once the lock is lost.
  std::stop_token LostToken();

 private:
  friend void intrusive_ptr_add_ref(Lease*) noexcept;
  friend void intrusive_ptr_release(Lease*) noexcept;

  std::atomic<std::int64_t> deadline_;
  std::atomic<std::int64_t> stored_until_ = 0;  ///< By renewals in doubt; 0: there were none.
  /// Made when lost() is first called, or the common one if the lease was lost before. No mutex
  /// guards it: a mutex that another thread holds during a fork stays locked in the child.
  std::atomic<std::stop_source*> lost_source_ = nullptr;
  std::atomic<std::uint32_t> ttl_ms_;
  const std::uint32_t min_hold_ms_;
  std::atomic<std::uint32_t> references_ = 0;
  std::atomic<Phase> phase_ = Phase::kHeld;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> renews_;
  std::atomic<bool> renewed_ = false;
  std::atomic<bool> on_probation_;

 public:
  ToldPair told;              ///< What the Observer knows of it.
  bool end_was_told = false;  ///< The Observer was called for the end. Guarded by the notifier.
  const bool named;           ///< See AcquireSpec.
  const LockMode mode;        ///< What it was granted as.
  /// What `due` is for: a renewal, or else the deadline. Guarded like it.
  bool due_for_renewal : 1 = false;
  /// How many holders of this process in a row, up to this one, were handed the lock; it stops at
  /// the highest number. Set before the handle has it.
  std::uint16_t handovers = 0;
};

static_assert(sizeof(Lease) <= 216, "with its key it fits into 256 bytes");

/// Orders leases by when the keeper checks them next.
struct DueOrder {
  bool operator()(const Lease& a, const Lease& b) const noexcept { return a.due < b.due; }
};

}  // namespace doclock::detail
