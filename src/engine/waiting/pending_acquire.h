#pragma once

#include <algorithm>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "doclock/detail/engine.h"
#include "doclock/lock_manager.h"
#include "doclock/time.h"
#include "engine/leases/told_pair.h"
#include "engine/waiting/queue_ticket.h"

namespace doclock::detail {

class WaitTable;

/// How long the first answer of the store may take, even if the wait is shorter.
inline constexpr std::chrono::seconds kFirstAnswer{1};

/// An attempt without an answer for this long counts as one that did not reach the store.
inline constexpr std::chrono::seconds kSilence{2};

/// How long before its end a wait asks for a lock that is left to others.
inline constexpr std::chrono::milliseconds kLastCall{100};

/// A caller that waits for a lock, blocked or not. It is settled exactly once: granted, refused,
/// timed out or cancelled. The thread that brings a grant too late releases it.
///
/// Guarded by its shard's mutex:
///
///   kNotQueued --Enqueue--> kQueued --Claim: it is the first, and asks, or a release hands over-->
///   kClaimed --Unclaim: busy--> kQueued, or --LeaveGranted, its end, or a failure--> kNotQueued
///
/// It may be settled in any of these; who holds a claim for it then drops what it brings.
class PendingAcquire : public std::enable_shared_from_this<PendingAcquire>,
                       public boost::intrusive::list_base_hook<
                           boost::intrusive::link_mode<boost::intrusive::normal_link>> {
 public:
  enum class QueueState : std::uint8_t { kNotQueued, kQueued, kClaimed };

  /// Waits for the document named in the request, or for any that matches its filter.
  enum class Target : std::uint8_t { kDocument, kAnyMatch };

  PendingAcquire(std::shared_ptr<WaitTable> table, AcquireSpec wish, Target target,
                 AcquireDone when_done, TimePoint now);
  PendingAcquire(const PendingAcquire&) = delete;
  PendingAcquire& operator=(const PendingAcquire&) = delete;
  ~PendingAcquire();

  const std::shared_ptr<WaitTable> table;
  const AcquireSpec spec;
  const Target target;
  const std::size_t hash;
  const TimePoint started;
  const TimePoint deadline;  ///< TimePoint::max(): no deadline.
  QueueState queue_state = QueueState::kNotQueued;
  bool registered = false;  ///< It is in the PendingSet, whose mutex guards this.
  /// Its position in the queue, unless it is in none. Guarded by the shard's mutex.
  std::list<std::shared_ptr<PendingAcquire>>::iterator where{};
  /// It is one attempt, whatever its time to wait: its caller goes on by other means, so the
  /// Observer gets a grant alone.
  bool once = false;
  /// It has asked in the others' turn (KeyWaits::NextInTurn). Guarded by the shard's mutex.
  bool asks_in_turn = false;
  /// Set when it stands in a queue, which then knows the store's last answer and the reason why a
  /// wait ended; or, if it is `once`, when the store has answered.
  std::atomic<bool> answered = false;
  /// How long the store took to refuse its attempt before it stood in a queue; 0: there was none.
  std::chrono::nanoseconds first_answer{};
  /// See AcquireProcedure. Used by the attempt under way for it; else guarded by the shard's mutex.
  Uuid upsert_id{};
  QueueTicket ticket;

  /// What it looks for; null: it waits for a document.
  [[nodiscard]] const AcquireSpec* search() const noexcept {
    return target == Target::kAnyMatch ? &spec : nullptr;
  }
  [[nodiscard]] bool shared() const noexcept { return spec.mode == LockMode::kShared; }
  /// Did an attempt of this caller, whose reply was lost, create the document?
  [[nodiscard]] bool IsMadeByIt(const Uuid& born) const noexcept {
    return !upsert_id.is_nil() && born == upsert_id;
  }
  [[nodiscard]] bool fail_fast() const noexcept { return spec.wait.count() == 0; }
  /// Does it stand in the store's queue too, when it is the first in its process?
  [[nodiscard]] bool uses_store_queue() const noexcept;
  /// Shortly before its time is over: an answer of the store still comes in time.
  [[nodiscard]] TimePoint last_call() const noexcept {
    if (deadline == TimePoint::max()) return deadline;
    return deadline - std::min(kLastCall, spec.wait.ms() / 2);
  }
  [[nodiscard]] bool settled() const noexcept { return settled_.load(std::memory_order_acquire); }

  /// Returns true if it settles now; false if it was settled before: then `result` is dropped,
  /// which releases a grant.
  bool Settle(AcquireResult result, bool handed_over = false) noexcept;
  /// The call that started it reports the failure itself: it must not be settled any more.
  void Forget() noexcept;

  /// Tells the Observer that the caller waits: the lock is busy, or others come first. It may be
  /// called again. `ahead`: see LockException::waiting.
  void BeginWaiting(std::optional<int> ahead = {}) noexcept;

  /// Settles it when its time to wait is over, even if the store hangs: an attempt under way
  /// releases what it gets. Does nothing if it was called before, unless that time is over.
  void StartClock();
  /// Its time to wait is over, but the store may take a second for its first answer: settles it
  /// then. Returns true if it waits on; false if that second is over too. Needs the shard's lock.
  [[nodiscard]] bool WaitForFirstAnswer() noexcept;

  /// The store was asked, and did not answer in time.
  [[nodiscard]] FailurePtr NoAnswer() const noexcept;

  /// Takes it out of its queue and settles it with `code` (kTimedOut, kCancelled).
  void End(Errc code) noexcept;

 private:
  void SetClock(TimePoint when);
  void TimeIsUp() noexcept;

  AcquireDone done_;
  std::atomic<Runtime::TimerId> clock_ = 0;
  std::atomic<bool> settled_ = false;
  ToldPair told_;  ///< What the Observer knows of the wait.
};

using PendingPtr = std::shared_ptr<PendingAcquire>;

}  // namespace doclock::detail
