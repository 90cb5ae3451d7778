#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "doclock/duration.h"

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

}  // namespace doclock
