#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "doclock/detail/engine.h"
#include "doclock/lock_manager.h"
#include "engine/waiting/pending_acquire.h"
#include "engine/waiting/search.h"

namespace doclock::detail {

using Waiters = std::list<PendingPtr>;

/// The waiters for one document, or for any that matches one filter, first come, first served.
/// Guarded by the mutex of its shard in the WaitTable. For a document at most one of them is
/// claimed, for a filter as many as the store takes at once: `asking`.
struct KeyWaits {
  /// `search`: null for the document of this key; else what it looks for.
  KeyWaits(WaitTable& t, Collection& c, const Key& k, std::size_t key_hash,
           const AcquireSpec* search)
      : table(t),
        collection(&c),
        key(k),
        hash(key_hash),
        wanted(search ? std::optional(*search) : std::nullopt) {}

  WaitTable& table;
  Collection* const collection;
  const Key key;
  const std::size_t hash;
  const std::optional<AcquireSpec> wanted;  ///< None: for a document.
  Waiters queue;
  int failing_fast = 0;      ///< Callers in the queue that do not wait.
  int releasing = 0;         ///< Marked releases under way: of an exclusive lock,
  int shares_releasing = 0;  ///< and of shares.
  int asking = 0;            ///< Attempts or hand-overs for claimed waiters under way.
  bool again = false;        ///< A hint or a release came meanwhile: ask again at once.
  bool overdue = false;      ///< The time of some is over, and they wait for the first answer.
  TimePoint not_before{};    ///< Standing back until then.
  // Where it takes turns with others (Collection::turns):
  TimePoint taken = TimePoint::max();  ///< When this process took the lock after their last turn.
  TimePoint given_up = TimePoint::min();  ///< When its last release here began; min: never.
  std::chrono::nanoseconds left_free{};   ///< How long others could have had it since `taken`.
  Runtime::TimerId timer = 0;
  TimePoint timer_when{};
  TimePoint asked_when{};  ///< Since then there was no grant, if any attempt is under way.
  FailurePtr last;         ///< Why the last attempt failed; null: none has ended.
  TimePoint answered_when = TimePoint::min();  ///< When that was.
  bool listed = true;                          ///< Still in the shard's map.
  /// The last grant that a hint reported while an attempt was under way.
  std::optional<GrantSeen> told;

  /// Needs neither queue nor entry any more, unless EntryUntil says so?
  [[nodiscard]] bool idle() const noexcept {
    return queue.empty() && releasing == 0 && shares_releasing == 0 && asking == 0;
  }
  /// Is it the turn of other processes, which poll?
  [[nodiscard]] bool others_turn() const noexcept;
  /// How long an idle entry stays where it takes turns: while others have theirs, and until no hold
  /// that began later could be part of the time before the next one.
  [[nodiscard]] TimePoint EntryUntil() const noexcept;
  /// A holder of this process, one of those that take turns, releases the lock. Returns whether it
  /// is the others' turn from now on: this process has taken the lock again and again for
  /// Turns::after, and has not left it free, or to others, for Turns::length in all.
  bool EndHold(const Lease& lease) noexcept;
  void Leave(PendingAcquire& waiter) noexcept;
  void LeaveTo(Waiters& left, PendingAcquire& waiter) noexcept;
  [[nodiscard]] bool IsFor(const Key& document, const AcquireSpec* search) const {
    return wanted ? search && WantsTheSame(*wanted, *search) : !search && key == document;
  }
  /// The first waiter that still wants the lock, and is not claimed; null if there is none.
  PendingPtr Front() noexcept;
  /// The waiter whom a hint means; null: none here.
  PendingPtr FindMeant(const GrantSeen& seen) noexcept;
  /// An attempt or a hand-over for this waiter begins.
  void Claim(PendingAcquire& waiter) noexcept;
  /// It has ended, and the waiter has not got the lock.
  void Unclaim(PendingAcquire& waiter) noexcept;
  /// An attempt was answered, and not by a grant.
  void TakeAnswer(FailurePtr why) noexcept;
  /// The lock was granted to this waiter, which leaves.
  void LeaveGranted(PendingAcquire& waiter) noexcept;
  /// After an attempt or a hand-over for this waiter: its ticket, if it has left the queue
  /// meanwhile.
  QueueTicket TakeTicketOfLeaver(PendingAcquire& waiter) noexcept;
  /// Must the first waiter stand behind releases that are under way?
  [[nodiscard]] bool MustHold(const PendingAcquire& front, bool released) const noexcept;
  /// Moves a caller that does not wait and has no answer of the store to the front. Returns true if
  /// there is one; false if there is none.
  bool BringFailFastForward() noexcept;
  /// In the others' turn: when the next waiter asks, at its end or because its own time is nearly
  /// over. One whose time has come is moved to the front, and asks once so.
  TimePoint NextInTurn() noexcept;
  /// The callers that do not wait, and are as busy as `busy` if that is not null.
  Waiters TakeFailFast(const AcquireSpec* busy) noexcept;
  /// The callers that do not wait, and that a share keeps out.
  Waiters TakeFailFastWriters() noexcept;
  /// Is the store, or a release of this process, about to give the first answer for this key? For a
  /// search: since it began. A grant to another is none.
  [[nodiscard]] bool AwaitsFirstAnswer(const PendingAcquire& waiter) const noexcept {
    const bool answered = wanted ? answered_when >= waiter.started : last != nullptr;
    return !answered && (asking > 0 || releasing > 0 || shares_releasing > 0);
  }
  /// The waiters whose time is over, once there is an answer.
  Waiters TakeOverdue() noexcept;
  /// The failure that ends a wait: the outage, if its last attempt did not reach the store.
  [[nodiscard]] FailurePtr WhyEnded(const PendingAcquire& waiter, Errc code) const noexcept;
};
using KeyWaitsPtr = std::shared_ptr<KeyWaits>;

/// The lock is busy. `last`: what is known of its holder.
FailurePtr BusyFailure(const PendingAcquire& waiter, Errc code, const Failure* last) noexcept;

/// Removes a waiter's entry from the store's queue in the background. Returns true if it has one;
/// false if it has none.
bool LeaveStoreQueue(const PendingAcquire& waiter, const QueueTicket& ticket) noexcept;

/// Callers that have left the queue, to be settled without its mutex.
struct Leavers {
  Waiters refused;  ///< They did not wait.
  Waiters overdue;  ///< See KeyWaits::TakeOverdue.

  /// `why`: the answer that they were given; null: another caller was granted the lock.
  void Settle(const Failure* why) const noexcept;
};

}  // namespace doclock::detail
