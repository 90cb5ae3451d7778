#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "doclock/export.h"
#include "doclock/store/store.h"
#include "doclock/time.h"

/// The lock core: the rules of a lock, once for every store. Pure functions: no clock, no I/O, no
/// threads, no randomness. A store loads a LockState, lets a rule decide, and
/// saves what the rule changed, all in one atomic step of its own.
namespace doclock::rules {

/// The remaining time, rounded up: a caller that waits this long finds it over.
inline std::chrono::milliseconds RoundUp(std::chrono::nanoseconds rest) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(rest);
}

/// Far above what can be asked for; the sum with a time does not overflow. What is stored is no
/// longer: a store takes more for malformed.
inline constexpr std::chrono::milliseconds kLongestLease = std::chrono::hours(24 * 365);

/// The highest stored version; the numbers above it will never be used up.
inline constexpr std::int64_t kHighestVersion = std::int64_t{1} << 62;

/// A lease is over `ttl` after its last sign of life.
struct Lease {
  TimePoint since{};  ///< The time of the grant, the last renewal or the last checkpoint.
  std::chrono::milliseconds ttl{};
  /// The store instance that it ends with, as the store numbers them; 0: it does not depend on one.
  std::int64_t instance = 0;

  [[nodiscard]] TimePoint End() const noexcept { return since + ttl; }
  [[nodiscard]] bool IsLive(TimePoint now) const noexcept { return now - since < ttl; }
  /// What is left of a live lease.
  [[nodiscard]] std::chrono::milliseconds Left(TimePoint now) const noexcept {
    return RoundUp(ttl - (now - since));
  }
  /// Renews the lease; never shortens it, so that renewals of different lengths may arrive in any
  /// order. (A clock that was set back for years does: such a lease is cut to the longest.)
  void Renew(std::chrono::milliseconds length, TimePoint now) noexcept {
    ttl = std::min(std::max(length, Left(now)), kLongestLease);
    since = now;
  }
  /// Ends the lease now, unless it is over.
  void Expire(TimePoint now) noexcept {
    if (IsLive(now)) since = now - ttl;
  }
  friend bool operator==(const Lease&, const Lease&) = default;
};

/// One holder of a shared lock. Each has a lease of its own.
struct Share {
  Uuid id;
  TimePoint granted;
  Lease lease;
  OwnerPtr owner;
  std::string group;
  std::int64_t fence = 0;  ///< The document's version at its grant; 0: not known.

  friend bool operator==(const Share&, const Share&) = default;
};

/// No store is asked for an entry this long. One that ends later was written by a wrong clock, or
/// by another program: it counts as one that is over, so that it keeps no client out for years.
inline constexpr std::chrono::milliseconds kLongestEntry = std::chrono::hours(8);

/// A waiter's entry in a document's queue. It is a lease too: it lapses by itself.
struct QueueEntry {
  Uuid id{};  ///< The lock id that it would be granted under.
  TimePoint until{};
  std::chrono::milliseconds ttl{};
  std::chrono::milliseconds min_hold{};
  OwnerPtr owner;
  std::string group;
  bool detached = false;
  LockMode mode = LockMode::kExclusive;
  int max_holders = kMaxHolders;  ///< How many shares may stand beside a shared entry's.
  /// The store instance that the waiter asked, as the store numbers them. The rules only carry it.
  std::int64_t instance = 0;

  [[nodiscard]] bool IsLive(TimePoint now) const noexcept {
    return now < until && until - now <= kLongestEntry;
  }
  friend bool operator==(const QueueEntry&, const QueueEntry&) = default;
};

/// Tells a store whether the rule that it called last granted the lock to an entry of the queue.
struct PassedOn {
  bool done = false;
  bool detached = false;      ///< That entry is detached.
  std::int64_t instance = 0;  ///< The entry's store instance, which the store notifies.

  friend bool operator==(const PassedOn&, const PassedOn&) = default;
};

/// Everything that is stored of a document's lock. Fields that a grant and a release touch come
/// first, to touch few cache lines.
///
/// Invariants: shares are there exactly while `lock_id` is kSharedLockId. Then `owner` is that of
/// the share that ends last, and `lease` ends no earlier than it, so that an exclusive attempt need
/// not look at the shares. (The rules make `lease` and `granted` those of that very share. MongoDB
/// keeps one lease over all of them, which begins anew with each renewal.)
struct LockState {
  Uuid lock_id{};             ///< Nil: not held.
  std::int64_t version = 0;   ///< Rises with every grant and every write; survives all else.
  Lease lease;                ///< The last grant's lease; a release leaves it.
  TimePoint granted{};        ///< When the last grant was made.
  std::int64_t fence = 0;     ///< The version at the last exclusive grant; 0: not known.
  TimePoint closed_until{};   ///< By min_hold.
  OwnerPtr owner;             ///< The last grant's owner. A release leaves it.
  std::string group;          ///< The last exclusive grant's group.
  Uuid born{};                ///< The document's incarnation.
  Uuid released{};            ///< Mark of the last finished release, save or break.
  std::vector<Share> shares;  ///< Mostly none.
  /// In the order of arrival; entries that are over are dropped when a rule meets them. A store
  /// that sees that a process is dead leaves out its entries. No entry has the id of the lock or of
  /// a live share.
  std::vector<QueueEntry> queue;
  PassedOn passed_on;      ///< A rule's result; not stored.
  std::int64_t floor = 0;  ///< The least version that a grant or a write may give; not stored.

  /// Keeps other callers out for so long, and for as long as it did before.
  void CloseFor(std::chrono::milliseconds min_hold, TimePoint now) noexcept {
    if (min_hold.count() > 0) closed_until = std::max(closed_until, now + min_hold);
  }
  /// For a grant or a write.
  void RaiseVersion() noexcept { version = std::max(version + 1, floor); }
  [[nodiscard]] bool HasLockId() const noexcept { return !lock_id.is_nil(); }
  /// Is it held by shares, live or over?
  [[nodiscard]] bool IsShared() const noexcept { return lock_id == kSharedLockId; }
  /// Is there a lease that is not over?
  [[nodiscard]] bool IsLive(TimePoint now) const noexcept {
    return HasLockId() && lease.IsLive(now);
  }
  /// Does min_hold keep every caller out?
  [[nodiscard]] bool IsClosed(TimePoint now) const noexcept { return now < closed_until; }
  /// Can an exclusive attempt be granted the lock?
  [[nodiscard]] bool IsFree(TimePoint now) const noexcept { return !IsLive(now) && !IsClosed(now); }
  /// Is it the exclusive lock of `id`, live or over? A nil id holds nothing.
  [[nodiscard]] bool IsHeldBy(const Uuid& id) const noexcept {
    return !id.is_nil() && lock_id == id && !IsShared();
  }
  /// Makes the lock's own lease that of the share which ends last.
  void CoverWith(const Share& last) {
    lease = last.lease;
    granted = last.granted;
    owner = last.owner;
  }
  /// The live share of this id, or null.
  [[nodiscard]] DOCLOCK_EXPORT const Share* LiveShare(const Uuid& id, TimePoint now) const noexcept;
  /// The holder that the last grant named.
  [[nodiscard]] LockHolder Holder() const { return owner ? *owner : LockHolder{}; }
  /// Owners count as equal only if they are one and the same object.
  friend bool operator==(const LockState&, const LockState&) = default;
};

}  // namespace doclock::rules
