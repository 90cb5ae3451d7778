#pragma once

#include <chrono>
#include <cstdint>

#include "doclock/clock.h"
#include "doclock/uuid.h"
#include "sqlite/db/statement.h"

namespace doclock::sqlite {

/// Far above what can be asked for, far below what overflows in nanoseconds.
inline constexpr std::chrono::milliseconds kLongestTtl = std::chrono::hours(24 * 365);

/// The lock columns of one row, as stored.
struct StoredLock {
  std::int64_t doc = 0;  ///< The row's id.
  Uuid id{};             ///< Nil: nobody holds it.
  std::int64_t version = 0;
  std::chrono::nanoseconds time{};  ///< BootClock: of the last grant or checkpoint.
  std::chrono::milliseconds ttl{};
  std::int64_t slot = 0;              ///< See ProcessCoordinator::slot; 0: the lease alone decides.
  std::int64_t boot = 0;              ///< What boot the times are of.
  std::chrono::nanoseconds closed{};  ///< BootClock: min_hold keeps everybody out until then.
  std::int64_t owner = 0;             ///< In doclock_owners.
  Uuid released{};
  Uuid born{};
  std::int64_t wall = 0;      ///< Unix time of `time`, for people. Not read back; 0: as it was.
  std::int64_t fence = 0;     ///< The version after the grant; 0: not known.
  bool has_lease = false;     ///< There is a row in the table of renewed leases ...
  bool lease_is_its = false;  ///< ... of this very lock ...
  std::chrono::nanoseconds renewed{};       ///< ... saying this.
  std::chrono::milliseconds renewed_ttl{};  ///< And this.
  bool malformed = false;            ///< Somebody wrote something else into the lock columns.
  const char* bad_column = nullptr;  ///< Into which, if this is known.

  /// When the lease ends, unless it is renewed.
  [[nodiscard]] std::chrono::nanoseconds LeaseEnd() const noexcept;
  /// The later of grant, checkpoint and renewal.
  [[nodiscard]] std::chrono::nanoseconds LastSign() const noexcept;
};

/// Reads kStoredColumns. @param default_ttl the lease of locks that name none.
StoredLock ReadStoredLock(const Statement& row, std::chrono::milliseconds default_ttl);

/// Binds the lock columns as ?2 to ?12 and ?14 (?13 is the body). The ids stay bound by reference.
void BindLock(Statement& statement, const StoredLock& lock);

}  // namespace doclock::sqlite
