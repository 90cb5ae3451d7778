#include "sqlite/stored_lock.h"

#include <algorithm>

namespace doclock::sqlite {
namespace {

/// Far above what can be asked for, far below what overflows in nanoseconds.
constexpr std::int64_t kLongestTtlMs = std::int64_t{1000} * 3600 * 24 * 365;
/// What is left above it will never be used up.
constexpr std::int64_t kHighestVersion = std::int64_t{1} << 62;

/// Takes values out of a row and remembers whether one was not what it should be.
class Columns {
 public:
  explicit Columns(const Statement& row) noexcept : row_(row) {}

  std::int64_t Integer(int column, std::int64_t lowest, std::int64_t highest) noexcept {
    const std::int64_t value = row_.Integer(column);
    good_ = good_ && row_.IsInteger(column) && value >= lowest && value <= highest;
    return value;
  }
  std::int64_t Any(int column) noexcept { return Integer(column, INT64_MIN, INT64_MAX); }
  std::chrono::nanoseconds Time(int column) noexcept {
    // Half the range: times and leases can be added without a look at overflow.
    return std::chrono::nanoseconds(Integer(column, 0, INT64_MAX / 2));
  }
  std::chrono::milliseconds Ttl(int column) noexcept {
    return std::chrono::milliseconds(Integer(column, 0, kLongestTtlMs));
  }
  Uuid Id(int column) noexcept {
    const auto id = row_.Id(column);
    good_ = good_ && id.has_value();
    return id.value_or(Uuid{});
  }
  [[nodiscard]] bool good() const noexcept { return good_; }

 private:
  const Statement& row_;
  bool good_ = true;
};

void ReadLease(const Statement& row, Columns& columns, StoredLock& lock) {
  lock.has_lease = !row.IsNull(11);
  if (!lock.has_lease || row.Id(11) != lock.id) return;
  lock.lease_is_its = true;
  lock.renewed = columns.Time(12);
  lock.renewed_ttl = columns.Ttl(13);
}

}  // namespace

std::chrono::nanoseconds StoredLock::LeaseEnd() const noexcept {
  const std::chrono::nanoseconds end = time + ttl;
  return lease_is_its ? std::max(end, renewed + renewed_ttl) : end;
}

std::chrono::nanoseconds StoredLock::LastSign() const noexcept {
  return lease_is_its ? std::max(time, renewed) : time;
}

StoredLock ReadStoredLock(const Statement& row, std::chrono::milliseconds default_ttl) {
  Columns columns(row);
  StoredLock lock;
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
  lock.malformed = !columns.good();
  return lock;
}

void BindLock(Statement& statement, const StoredLock& lock) {
  statement.Bind(2, lock.id);
  statement.Bind(3, lock.version);
  statement.Bind(4, lock.time.count());
  statement.Bind(5, lock.ttl.count());
  statement.Bind(6, lock.slot);
  statement.Bind(7, lock.boot);
  statement.Bind(8, lock.closed.count());
  statement.Bind(9, lock.owner);
  statement.Bind(10, lock.released);
  statement.Bind(11, lock.born);
  statement.Bind(12, lock.wall);
}

}  // namespace doclock::sqlite
