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
/// As `LockOptions::ttl`: what `RepositoryOptions::ttl` says.
inline constexpr Duration kRepositoryTtl = Duration{};

/// Whom a lock shuts out.
enum class LockMode : std::uint8_t {
  kExclusive,  ///< Everybody else.
  /// Those who want it exclusively, and more sharers than LockOptions::max_holders. For named
  /// locks.
  kShared,
};

/// The most that can hold one lock together.
inline constexpr int kMaxHolders = 1000;

/// How one lock is to be taken. An aggregate for designated initialisers:
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
  /// How long to wait for somebody else's lock: zero (the default) fails at once; kForever waits
  /// until granted or stopped. Negative is refused.
  Duration wait = {};
  /// Renew the lease in the background until it is released (the default). Without, the lock is
  /// lost when `ttl` is over.
  bool renew = true;
  /// The lock stays closed for others this long after the grant, released or not, so that a job
  /// done in a second does not run twice in one minute. Zero (the default) to kMaxTtl.
  Duration min_hold = {};
  /// For people: who takes the lock. At most 256 bytes of UTF-8; empty means
  /// `ManagerOptions::owner`.
  std::string_view owner = {};
  /// What the lock belongs to with others, so that all can be renewed or released together
  /// (LockProvider::RenewGroup, ReleaseGroup). At most 256 bytes of UTF-8; empty (the default)
  /// means none.
  std::string_view group = {};
  /// See LockMode. Shared locks are for LockProvider; repositories refuse them.
  LockMode mode = LockMode::kExclusive;
  /// With LockMode::kShared: granted while fewer than this many others share the lock, counted by
  /// the store at the moment of the grant. 1 to kMaxHolders (the default). It is this call's own
  /// limit: all who mean one semaphore ask with the same.
  int max_holders = kMaxHolders;
};
static_assert(std::is_trivially_destructible_v<LockOptions>);

}  // namespace doclock
