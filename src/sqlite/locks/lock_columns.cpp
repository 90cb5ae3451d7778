#include "sqlite/locks/lock_columns.h"

#include <algorithm>
#include <array>

#include "sqlite/db/sql.h"
#include "sqlite/locks/columns.h"

namespace doclock::sqlite {
namespace {

/// The highest stored version; the numbers above it will never be used up.
constexpr std::int64_t kHighestVersion = std::int64_t{1} << 62;

/// Of kStoredColumns.
constexpr std::array<const char*, kStoredColumnCount> kColumnNames{
    "id",         "lock_id",       "lock_version", "lock_time",
    "lock_ttl",   "lock_slot",     "lock_boot",    "lock_closed",
    "lock_owner", "lock_released", "lock_born",    "lock_id of the lease",
    "renewed",    "ttl",           "lock_fence",   "lock_queue"};

void ReadLease(const Statement& row, Columns& columns, LockColumns& lock) {
  lock.has_lease = !row.IsNull(11);
  if (!lock.has_lease || row.Id(11) != lock.id) return;
  lock.lease_is_its = true;
  lock.renewed = columns.Time(12);
  lock.renewed_ttl = columns.Ttl(13);
}

}  // namespace

std::chrono::nanoseconds LockColumns::LeaseEnd() const noexcept {
  const std::chrono::nanoseconds end = time + ttl;
  return lease_is_its ? std::max(end, renewed + renewed_ttl) : end;
}

std::chrono::nanoseconds LockColumns::LastSign() const noexcept {
  return lease_is_its ? std::max(time, renewed) : time;
}

LockColumns ReadLockColumns(const Statement& row, std::chrono::milliseconds default_ttl) {
  Columns columns(row);
  LockColumns lock;
  lock.doc = columns.Any(0);
  lock.id = columns.Id(1);
  lock.version = columns.Integer(2, 0, kHighestVersion);
  lock.time = columns.Time(3);
  lock.ttl = row.IsNull(4) ? default_ttl : columns.Ttl(4);
  lock.slot = columns.Integer(5, 0, INT64_MAX);
  lock.boot = columns.Any(6);
  lock.closed = columns.Time(7);
  lock.owner = columns.Any(8);
  lock.released = columns.Id(9);
  lock.born = columns.Id(10);
  ReadLease(row, columns, lock);
  lock.fence = columns.Integer(14, 0, kHighestVersion);
  // Whatever else stands there: a look at the queue does no harm.
  lock.queued = row.Integer(15) != 0 || !row.IsInteger(15);
  lock.malformed = !columns.good();
  if (lock.malformed) lock.bad_column = kColumnNames[static_cast<std::size_t>(columns.bad())];
  return lock;
}

void BindLock(Statement& statement, const LockColumns& lock) {
  statement.Bind(2, lock.id);
  statement.Bind(3, lock.version);
  statement.Bind(4, lock.time);
  statement.Bind(5, lock.ttl);
  statement.Bind(6, lock.slot);
  statement.Bind(7, lock.boot);
  statement.Bind(8, lock.closed);
  statement.Bind(9, lock.owner);
  statement.Bind(10, lock.released);
  statement.Bind(11, lock.born);
  statement.Bind(12, lock.wall);
  statement.Bind(14, lock.fence);
  statement.Bind(15, std::int64_t{lock.queued});
}

}  // namespace doclock::sqlite
