#pragma once

/// @file
/// Options of locks, managers and repositories.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "doclock/time.h"

namespace doclock {

/// The shortest lease that can be asked for.
inline constexpr Duration kMinTtl = std::chrono::milliseconds(100);
/// The longest lease that can be asked for.
inline constexpr Duration kMaxTtl = std::chrono::hours(24);
/// As `LockOptions::ttl`: use `RepositoryOptions::ttl` (or `LockProviderOptions::ttl`).
inline constexpr Duration kRepositoryTtl = Duration{};

/// Which other clients a lock excludes.
enum class LockMode : std::uint8_t {
  kExclusive,  ///< All others.
  /// Those that want it exclusively, and more shares than LockOptions::max_holders. For named
  /// locks.
  kShared,
};

/// The most shares that one lock can have.
inline constexpr int kMaxHolders = 1000;

/// How to take one lock. An aggregate for designated initialisers:
/// `repository.Lock("42", {.ttl = 10s, .wait = 5s})`.
///
/// Checked before anything is sent: std::invalid_argument names the field.
///
/// It stays trivially destructible, because GCC 12 destroys aggregate temporaries with non-trivial
/// members twice inside a co_await expression. `owner` and `group` are copied before the call
/// returns.
struct LockOptions {
  /// Length of the lease, kMinTtl to kMaxTtl, or kRepositoryTtl (the default).
  Duration ttl = kRepositoryTtl;
  /// How long to wait while another client holds the lock: zero (the default) fails at once;
  /// kForever waits until the lock is granted or the wait is stopped. Negative is refused.
  Duration wait = {};
  /// Renew the lease in the background until the lock is released (the default). If false, the lock
  /// is lost when `ttl` is over.
  bool renew = true;
  /// For this long after the grant, the lock is granted to no other client, released or not. With
  /// it, a job that takes a second does not run twice in one minute. Zero (the default) to kMaxTtl.
  Duration min_hold = {};
  /// The name of the client that takes the lock; diagnostic only. At most 256 bytes of UTF-8; empty
  /// means `ManagerOptions::owner`.
  std::string_view owner = {};
  /// The group that the lock belongs to. The locks of a group can be renewed or released together
  /// (LockAdmin::RenewGroup, ReleaseGroup). At most 256 bytes of UTF-8; empty (the default)
  /// means no group.
  std::string_view group = {};
  /// See LockMode. Shared locks are for LockProvider; repositories refuse them.
  LockMode mode = LockMode::kExclusive;
  /// With LockMode::kShared: the lock is granted while fewer than this many others share it,
  /// counted by the store at the moment of the grant. 1 to kMaxHolders (the default). The limit is
  /// this call's own: all callers of one semaphore must pass the same.
  int max_holders = kMaxHolders;
  /// For LockAll and AcquireAll: while one lock is not available, the others are kept for this long
  /// at most, and then given back until it is granted. So one dead holder does not stop those who
  /// want the others. At least 1 ms (at most kMaxTtl), or kForever: they are kept until `wait` is
  /// over. A caller that has to start over, because another client took one meanwhile, keeps them
  /// twice as long the next time. With `min_hold` they are kept: giving them back would open them
  /// to no other client.
  Duration hold_while_waiting = std::chrono::milliseconds(100);
};
static_assert(std::is_trivially_destructible_v<LockOptions>);

class Observer;
class Runtime;

/// How a LockManager works. Checked at construction: std::invalid_argument names the field.
struct ManagerOptions {
  /// The name of the client that takes locks, unless LockOptions::owner gives one; diagnostic only.
  /// At most 256 bytes. Empty: the program's name ("doclock" where the platform layer does not know
  /// it).
  std::string owner = {};
  /// Receives the events; may be null. See Observer for threads.
  std::shared_ptr<Observer> observer = nullptr;
  /// The timeout of one call of the store, 10 ms to 10 minutes. When it runs out, the call fails
  /// (kUnavailable, or kInDoubt if something was sent).
  Duration call_budget = std::chrono::seconds(10);
  /// A waiter polls again after a random time between `poll_min` and `poll_max`, whether or not the
  /// store gave a hint that the lock is free; about once a second, or in a quarter of a short
  /// `ttl`, while the store notifies it and its entry stands in the store's queue. A search
  /// (LockNext) asks about once a second while the store notifies it, and when it knows that a
  /// document falls due or a lock ends. At least 1 ms; min <= max <= 1 h.
  Duration poll_min = std::chrono::milliseconds(50);
  /// The longest pause between two polls of a waiter; see poll_min.
  Duration poll_max = std::chrono::milliseconds(150);
  /// The longest time that Close() waits for background releases. Up to one minute.
  Duration drain_timeout = std::chrono::seconds(2);
  /// Hand-overs between waiters of this process in a row before other processes get a chance.
  /// 1 to 1000.
  int max_handovers = 16;
  /// For tests: where time and threads come from; null means the real ones. It belongs to this
  /// manager alone, which stops it when it is closed.
  std::shared_ptr<Runtime> runtime = nullptr;
};

/// The names of the lock's fields, where they live inside the document (MongoDB). On every store a
/// body may not use these names at its top level.
/// Each is 1 to 64 characters of [A-Za-z_][A-Za-z0-9_]*, and all differ.
struct LockFieldNames {
  std::string id = "lockId";              ///< The grant's id, or null.
  std::string time = "lockTime";          ///< Server time of the last grant or renewal.
  std::string ttl = "lockTtl";            ///< Length of the lease, ms.
  std::string version = "lockVersion";    ///< Rises by one with each grant and write.
  std::string born = "lockBorn";          ///< Tells an erased document from its next life.
  std::string owner = "lockOwner";        ///< The holder's name; diagnostic only.
  std::string released = "lockReleased";  ///< The last finished release.
  std::string closed = "lockClosed";      ///< The end of min_hold.
  std::string group = "lockGroup";        ///< LockOptions::group.
  std::string readers = "lockReaders";    ///< The shares of a shared lock.
  std::string fence = "lockFence";        ///< The fence of a holder that has saved.
  std::string queue = "lockQueue";        ///< The waiters, in the order of their arrival.
  std::string passed = "lockPassed";      ///< The last grant to a waiter of the queue.
  std::string expected = "lockExpected";  ///< The last commit that expected the document unchanged.
  /// Compares names.
  friend bool operator==(const LockFieldNames&, const LockFieldNames&) = default;
};

/// How a LockingRepository works. Checked at construction: std::invalid_argument names the field.
struct RepositoryOptions {
  /// The lease of locks that name none, kMinTtl to kMaxTtl.
  Duration ttl = std::chrono::seconds(30);
  /// Update() tries this many optimistic saves before it takes the lock, and doclock::Update this
  /// many commits. 0 to 1000.
  int update_retries = 5;
  /// How long Update() waits for the lock once it takes it. For doclock::Update see
  /// UpdateOptions::within.
  Duration update_wait = std::chrono::seconds(30);
  /// Names of the lock's fields; null means EntityTraits' (or the default) names.
  std::shared_ptr<const LockFieldNames> lock_fields = nullptr;
};

}  // namespace doclock
