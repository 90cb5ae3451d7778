#pragma once

#include <chrono>
#include <cstdint>

#include "doclock/clock.h"
#include "doclock/uuid.h"
#include "sqlite/db/statement.h"

namespace doclock::sqlite {

/// The lock columns of one row, as stored.
struct LockColumns {
  std::int64_t doc = 0;  ///< The row's id.
  Uuid id{};             ///< Nil: not locked.
  std::int64_t version = 0;
  std::chrono::nanoseconds time{};  ///< BootClock: of the last grant or checkpoint.
  std::chrono::milliseconds ttl{};
  std::int64_t slot = 0;              ///< See ProcessCoordinator::slot; 0: the lease alone decides.
  std::int64_t boot = 0;              ///< The boot that the times belong to.
  std::chrono::nanoseconds closed{};  ///< BootClock: the end of min_hold.
  std::int64_t owner = 0;             ///< In doclock_owners.
  Uuid released{};
  Uuid born{};
  std::int64_t wall = 0;   ///< Unix time of `time`, diagnostic only. Not read back; 0: unchanged.
  std::int64_t fence = 0;  ///< The version after the grant; 0: not known.
  /// There may be waiters in the table of the queue. False: what stands there means nothing.
  bool queued = false;
  bool has_lease = false;                   ///< There is a row in the table of renewed leases ...
  bool lease_is_its = false;                ///< ... of this very lock ...
  std::chrono::nanoseconds renewed{};       ///< ... with this time ...
  std::chrono::milliseconds renewed_ttl{};  ///< ... and this length.
  bool malformed = false;                   ///< The lock columns are not what this library writes.
  const char* bad_column = nullptr;         ///< The bad column, if it is known.

  /// When the lease ends, unless it is renewed.
  [[nodiscard]] std::chrono::nanoseconds LeaseEnd() const noexcept;
  /// The later of grant, checkpoint and renewal.
  [[nodiscard]] std::chrono::nanoseconds LastSign() const noexcept;

  friend bool operator==(const LockColumns&, const LockColumns&) = default;
};

/// Reads kStoredColumns. @param default_ttl the lease of locks without a length of their own.
LockColumns ReadLockColumns(const Statement& row, std::chrono::milliseconds default_ttl);

/// Binds the lock columns as ?2 to ?12, ?14 and ?15 (?13 is the body). The ids stay bound by
/// reference.
void BindLock(Statement& statement, const LockColumns& lock);

}  // namespace doclock::sqlite
