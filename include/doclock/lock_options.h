#pragma once

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
};
static_assert(std::is_trivially_destructible_v<LockOptions>);

}  // namespace doclock
