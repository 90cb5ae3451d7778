#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "doclock/options.h"
#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"
#include "rules/lock_state.h"

namespace doclock::mongodb {

inline constexpr std::int64_t kLongestTtlMs = rules::kLongestLease.count();
/// A lease that began before is none: the server cannot tell its age.
inline constexpr std::int64_t kEarliestMs = -(std::int64_t{1} << 62);
/// No longer time is given, however far apart two dates are: others add it to a date, or make
/// nanoseconds of it.
inline constexpr std::int64_t kLongestTimeMs = 100 * kLongestTtlMs;
inline constexpr std::int64_t kHighestVersion = std::int64_t{1} << 62;

/// The moment of a read, for src/rules/. A server's dates may be further off than a TimePoint
/// tells, so those of a StoredLock stand as far from here as they were from the server's time.
inline constexpr TimePoint kLookedAt{std::chrono::hours(24 * 365 * 150)};

/// The lock fields of one document.
struct StoredLock : rules::LockState {
  std::string bad_field;     ///< What holds something that this library never writes; empty: none.
  Doc seen;                  ///< The lock's fields as a read showed them; for a LockChange.
  bool has_closed = false;   ///< Is there such a field, null or not?
  bool has_readers = false;  ///< Likewise.
  bool has_queue = false;    ///< Likewise.

  [[nodiscard]] bool malformed() const noexcept { return !bad_field.empty(); }
  /// Does the document show that this grant holds it?
  [[nodiscard]] bool ShowsGrant(const GrantRequest& grant) const noexcept {
    return grant.mode == LockMode::kShared ? LiveShare(grant.lock_id, kLookedAt) != nullptr
                                           : lock_id == grant.lock_id;
  }
};

/// @param now the server's clock ($$NOW), in ms, from the same command as the document.
StoredLock ReadStoredLock(const bson_t& doc, const Collection& collection, std::int64_t now);

/// Settles the operation as one on a malformed lock, and names the field.
void Malformed(StoreOp& op, const StoredLock& lock);

}  // namespace doclock::mongodb
