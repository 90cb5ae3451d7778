#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "doclock/detail/engine.h"
#include "doclock/lock_manager.h"
#include "engine/leases/lease_book.h"
#include "engine/waiting/hints.h"
#include "engine/waiting/key_waits.h"
#include "engine/waiting/pending_set.h"

namespace doclock::detail {

/// The waiters of this process for each document: a FIFO per key. The first waiter of a key asks
/// the store, the others stand behind it. Holds only keys with waiters or a release under way, so
/// that an uncontended lock touches only one counter here; where locks take turns, also keys that
/// were released shortly before. Thread-safe.
///
/// Readers stand in the same queue as writers: a reader that comes while a writer waits stands
/// behind it. When a share is granted, the next in the queue asks at once. Shares are not handed
/// over.
///
/// If the store keeps a queue for all processes, the first waiter of a key stands in it too, with
/// one entry: it learns of its turn by a hint, and asks again in time to keep its place.
///
/// Searches for any free document that match the same filter stand in one line likewise. As many of
/// them ask at once as the store takes, since each is granted another document.
///
/// A waiter requests hints, tries again (the lock may have been freed in between), then sleeps
/// until the first of: a hint, a local release, the end of the holder's lease, a jittered poll, its
/// deadline, its cancellation.
class WaitTable : public std::enable_shared_from_this<WaitTable> {
 public:
  /// A local release under way, and the waiter it hands the lock to.
  class Release;

  explicit WaitTable(std::shared_ptr<LeaseBook> leases);
  ~WaitTable();

  [[nodiscard]] StoreCalls& calls() noexcept { return calls_; }
  [[nodiscard]] LeaseBook& leases() noexcept { return *leases_; }
  [[nodiscard]] Hints& hints() noexcept { return hints_; }
  [[nodiscard]] PendingSet& pendings() noexcept { return pendings_; }

  /// May a caller ask the store directly? No if others wait for that key, or a release of it is
  /// under way here. Nor if it probably has to stand in the store's queue: an attempt of a waiter
  /// finds out, and takes its place, in one request.
  [[nodiscard]] bool MustQueue(const AcquireSpec& spec, std::size_t hash);
  /// Puts a waiter at the end of its queue and starts asking. `why`: the failure of an attempt
  /// already made, if any. Where it throws, the waiter is in no queue.
  void Enqueue(const PendingPtr& waiter, FailurePtr why);
  /// The time of this waiter is over. Does it go on, because the store has not answered yet? Then
  /// the answer ends the wait, or PendingAcquire::WaitForFirstAnswer.
  [[nodiscard]] bool AwaitsFirstAnswer(PendingAcquire& waiter) noexcept;
  /// Ends a wait with `code` (kTimedOut, kCancelled).
  void End(PendingAcquire& waiter, Errc code) noexcept;
  /// Likewise with kCancelled, if it stands in a queue: an attempt under way has its own outcome.
  void EndIfQueued(PendingAcquire& waiter) noexcept;

  /// Before a release: claims the next waiter of the key if there is one to hand over to (see
  /// Release::next). With `mark`, local callers of the key stand behind the release from now on.
  Release BeginRelease(const Lease& lease, bool mark, bool may_hand_over);
  /// After a release: `lease` is the claimed waiter's (null: not handed over), `released` says
  /// whether the lock is free now. A Release that is destroyed without this lets the waiters ask.
  void EndRelease(Release& release, LeasePtr lease, bool released) noexcept;

  /// Takes a hint from the store, on any thread: settles the waiter that was granted the lock, if
  /// it tells all of that, or lets the first waiters and searches of this process ask.
  void Hear(Collection& collection, const LockHint& hint) noexcept;
  /// Wakes the waiters of this process after a lock was released here and not handed over: the
  /// store may not give them a hint.
  void Freed(Collection& collection, std::size_t hash) noexcept;
  /// Likewise its searches alone: a document that matches may be free, or was written.
  void FreedForSearches(Collection& collection) noexcept;

 private:
  struct Shard {
    std::mutex mutex;
    std::atomic<int> count = 0;
    std::unordered_multimap<std::size_t, KeyWaitsPtr> keys;
  };
  struct Attempt;
  static constexpr std::size_t kShards = 64;

  Shard& ShardOf(std::size_t hash) noexcept;
  // These need the shard's lock.
  KeyWaitsPtr FindKey(Shard& shard, const Collection& collection, const Key& key, std::size_t hash,
                      const AcquireSpec* search = nullptr);
  KeyWaitsPtr FindKey(Shard& shard, const PendingAcquire& waiter) {
    return FindKey(shard, *waiter.spec.collection, waiter.spec.key, waiter.hash, waiter.search());
  }
  KeyWaitsPtr FindOrAddKey(Shard& shard, Collection& collection, const Key& key, std::size_t hash,
                           const AcquireSpec* search = nullptr);
  void EraseIfIdle(Shard& shard, const KeyWaitsPtr& waits) noexcept;
  void SleepUntil(const KeyWaitsPtr& waits, TimePoint when) noexcept;
  /// The lock was granted to this waiter: it leaves, with those who cannot have it now.
  [[nodiscard]] Leavers LeaveGranted(const KeyWaitsPtr& waits, PendingAcquire& waiter) noexcept;

  /// Is this caller to stand in the store's queue before it has asked?
  [[nodiscard]] bool EntersAtOnce(const AcquireSpec& spec, std::size_t hash) const noexcept;

  // These lock the shard.
  /// Lets the first waiter ask, unless an attempt or a release is under way. `released`: a release
  /// has just ended.
  void Pump(const KeyWaitsPtr& waits, bool released = false) noexcept;
  void StartAttempt(const KeyWaitsPtr& waits, const PendingPtr& waiter);
  /// The claimed waiter was not granted the lock after all.
  void Unclaim(const KeyWaitsPtr& waits, PendingAcquire& waiter) noexcept;
  void StartSearch(const KeyWaitsPtr& waits, const PendingPtr& waiter, bool asks_free_in);
  /// @param queued_behind see AcquireProcedure
  void AfterAttempt(const KeyWaitsPtr& waits, PendingAcquire& waiter, AcquireResult result,
                    std::optional<int> queued_behind = {}) noexcept;
  /// Settles the claimed waiter, which has the lock.
  void Granted(const KeyWaitsPtr& waits, PendingAcquire& waiter, AcquireResult result) noexcept;
  /// Settles the waiter that was granted the lock, as a hint tells. Returns true if it did; false
  /// if an attempt has to ask the store.
  bool TakeGrant(const KeyWaitsPtr& waits, const GrantSeen& seen) noexcept;
  [[nodiscard]] TimePoint NextLook(const Failure* why) const noexcept;
  /// The earlier of `next` and the end of the obstacle.
  [[nodiscard]] TimePoint NextLook(const Failure* why, TimePoint next) const noexcept;
  /// For a waiter whose entry stands in the store's queue.
  [[nodiscard]] TimePoint NextLookInQueue(const PendingAcquire& waiter, int queued_behind,
                                          const Failure* why) noexcept;
  /// For a search. `why`: its answer.
  [[nodiscard]] TimePoint NextSearch(Collection& collection, const Failure& why) noexcept;
  /// How many of the line may ask the store at once.
  [[nodiscard]] int MostAsking(const KeyWaits& waits) const noexcept {
    return waits.wanted ? calls_.searching().most() : 1;
  }
  /// Wakes the lines of this hash, or of all.
  void Wake(const Collection& collection, std::optional<std::size_t> hash,
            const std::optional<GrantSeen>& grant = {}) noexcept;

  const std::shared_ptr<LeaseBook> leases_;
  StoreCalls& calls_;
  Hints hints_;
  PendingSet pendings_;
  const std::unique_ptr<std::array<Shard, kShards>> shards_;
};

/// See BeginRelease.
class WaitTable::Release {
 public:
  Release() = default;
  Release(Release&& other) noexcept { *this = std::move(other); }
  Release& operator=(Release&& other) noexcept;
  ~Release();
  /// The waiter to hand over to; null: none.
  [[nodiscard]] const PendingPtr& next() const noexcept { return next_; }

 private:
  friend class WaitTable;
  WaitTable* table_ = nullptr;
  Collection* collection_ = nullptr;
  std::size_t hash_ = 0;
  KeyWaitsPtr waits_;  ///< Null if there were no waiters when the release began.
  PendingPtr next_;
  bool marked_ = false;
  bool shared_ = false;
  std::uint16_t handovers_ = 0;  ///< In a row, with this one.
};

}  // namespace doclock::detail
