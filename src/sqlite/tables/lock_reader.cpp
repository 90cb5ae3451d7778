#include "sqlite/tables/lock_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "doclock/store/store.h"
#include "rules/rules.h"
#include "sqlite/tables/lock_text.h"

namespace doclock::sqlite {
namespace {

/// Rows and shares that one page looks at.
constexpr std::size_t kPerPage = 1000;
/// A time that is so far ahead was not read from this run of the clock, whatever the row says.
constexpr std::chrono::minutes kAhead{1};

/// The columns of the table of locks.
enum Column : int {
  kRow,
  kVersion,
  kId,
  kTime,
  kTtl,
  kSince,
  kClosed,
  kFence,
  kOwner,
  kGroup,
  kBorn,
  kReleased,
  kShares,
  kQueue,
  kSlot,
  kEra,
};
constexpr std::array<const char*, kLockColumnCount> kNames{
    "id",          "lock_version", "lock_id",    "lock_time",  "lock_ttl",  "lock_since",
    "lock_closed", "lock_fence",   "lock_owner", "lock_group", "lock_born", "lock_released",
    "lock_shares", "lock_queue",   "lock_slot",  "lock_era"};

/// In a statement that finds locks, where those columns begin, and what stands behind them.
constexpr int kFirst = 1, kBehind = kFirst + kLockColumnCount;

/// Takes the columns of a lock out of a row, and remembers the first that has a bad value.
class Columns {
 public:
  explicit Columns(const Statement& row) noexcept : row_(row) {}

  std::int64_t Integer(Column column, std::int64_t lowest, std::int64_t highest) noexcept {
    const std::int64_t value = row_.Integer(kFirst + column);
    Check(column, row_.IsInteger(kFirst + column) && value >= lowest && value <= highest);
    return value;
  }
  TimePoint Time(Column column) noexcept {
    return TimePoint(TimePoint::duration(Integer(column, -kLatest, kLatest)));
  }
  /// Nil of NULL.
  Uuid Id(Column column) noexcept {
    if (row_.IsNull(kFirst + column)) return {};
    const auto id = row_.Id(kFirst + column);
    Check(column, id && !id->is_nil());
    return id.value_or(Uuid{});
  }
  /// Empty of NULL.
  std::string_view Text(Column column) noexcept {
    if (row_.IsNull(kFirst + column)) return {};
    Check(column, row_.IsText(kFirst + column));
    return row_.Text(kFirst + column);
  }
  void Check(Column column, bool good) noexcept {
    if (!good && bad_ == nullptr) bad_ = kNames[static_cast<std::size_t>(column)];
  }
  [[nodiscard]] const char* bad() const noexcept { return bad_; }

 private:
  const Statement& row_;
  const char* bad_ = nullptr;
};

std::int64_t PositionOf(const std::string& after) {
  std::int64_t position = INT64_MIN;
  std::from_chars(after.data(), after.data() + after.size(), position);
  return position;
}

}  // namespace

std::string LockColumns(const std::string& prefix) {
  std::string columns;
  for (const char* const name : kNames) columns += (columns.empty() ? "" : ", ") + prefix + name;
  return columns;
}

std::unique_ptr<LoadedDocument> LockReader::Find(const SqliteCollection& collection, const Key& key,
                                                 bool with_body) {
  const Running row(
      connection_.Prepared(collection.sql(with_body ? Statements::kFind : Statements::kFindLock)));
  row->Bind(1, key);
  if (!row->Step()) return nullptr;
  return std::make_unique<LoadedDocument>(Read(*row, with_body ? kBehind : -1));
}

LoadedDocument LockReader::Read(const Statement& row, int body) const {
  LoadedDocument document;
  document.id = row.Integer(0);
  if (row.IsNull(kFirst)) {
    document.lock.floor = context_.floor;  // it was never locked
  } else {
    document.bad_column = ReadLock(row, document.lock);
  }
  if (body < 0) return document;
  // A value that is no text is no JSON either; the code that parses it gets the error.
  document.body = Body::FromText(row.IsText(body) ? std::string(row.Text(body)) : std::string());
  return document;
}

const char* LockReader::ReadLock(const Statement& row, rules::LockState& lock) const {
  Columns columns(row);
  // The highest one could not be raised any more.
  lock.version = columns.Integer(kVersion, 0, rules::kHighestVersion - 1);
  lock.lock_id = columns.Id(kId);
  lock.lease.since = columns.Time(kTime);
  lock.lease.ttl =
      std::chrono::milliseconds(columns.Integer(kTtl, 0, rules::kLongestLease.count()));
  lock.granted = columns.Time(kSince);
  lock.closed_until = columns.Time(kClosed);
  lock.fence = columns.Integer(kFence, 0, rules::kHighestVersion);
  lock.group = columns.Text(kGroup);
  lock.born = columns.Id(kBorn);
  lock.released = columns.Id(kReleased);
  lock.lease.instance = columns.Integer(kSlot, 0, INT64_MAX);
  const std::string_view owner = columns.Text(kOwner);
  if (!owner.empty()) columns.Check(kOwner, ReadOwner(owner, lock.owner));
  columns.Check(kShares, ReadShares(columns.Text(kShares), lock.shares) &&
                             lock.IsShared() != lock.shares.empty());
  columns.Check(kQueue, ReadQueue(columns.Text(kQueue), lock.queue));
  const std::int64_t era = columns.Integer(kEra, 0, INT64_MAX);
  if (columns.bad() == nullptr) Settle(lock, era);
  return columns.bad();
}

/// Times of an earlier boot tell only lengths. They count from when this boot's first era began,
/// for all eras to come: the clock will pass those times once more. Where boots are not known, a
/// time that lies ahead is of an earlier one, and counts from the clock's zero.
void LockReader::Settle(rules::LockState& lock, std::int64_t era) const {
  lock.floor = context_.floor;
  const bool this_era = era == context_.era.number, this_boot = era >= context_.era.first_of_boot;
  const TimePoint latest = this_era ? now_ + kAhead : now_;
  const auto settle = [&](rules::Lease& lease, TimePoint& granted) {
    const bool counts_anew = !this_boot || granted > latest || lease.since > latest;
    if (counts_anew) lease.since = granted = this_boot ? TimePoint{} : context_.era.boot_seen;
    if (lease.IsLive(now_) && IsDead(lease.instance)) lease.Expire(now_);
    return counts_anew;
  };
  const TimePoint::duration closed_for = lock.closed_until - lock.granted;
  if (settle(lock.lease, lock.granted)) {
    lock.closed_until =
        lock.granted + std::clamp<TimePoint::duration>(closed_for, {}, rules::kLongestLease);
  }
  for (rules::Share& share : lock.shares) settle(share.lease, share.granted);
  if (lock.IsShared()) rules::Cover(lock, now_);
  if (!this_era) lock.queue.clear();
  std::erase_if(lock.queue, [&](const rules::QueueEntry& entry) {
    return entry.IsLive(now_) && IsDead(entry.instance);
  });
}

std::string LockReader::ScanLocks(const SqliteCollection& collection, const LockQuery& query,
                                  const std::string& after,
                                  const std::function<bool(locking::Candidate&&)>& visit) {
  const Running row(connection_.Prepared(collection.sql(query.key      ? Statements::kListKey
                                                        : query.unheld ? Statements::kListAll
                                                                       : Statements::kList)));
  row->Bind(1, PositionOf(after));
  if (query.key) row->Bind(2, *query.key);
  std::size_t seen = 0;
  while (row->Step()) {
    LoadedDocument document = Read(*row, -1);
    // Many shares of few documents make a page too.
    seen += std::max<std::size_t>(document.lock.shares.size(), 1);
    locking::Candidate found;
    if (auto key = row->KeyAt(kBehind)) found.key = *std::move(key);
    found.lock = std::move(document.lock);
    found.has_body = row->Integer(kBehind + 1) != 0;
    found.malformed = document.bad_column != nullptr;
    if (found.malformed) {
      found.why_malformed = std::string(document.bad_column) + " is not what doclock writes";
    }
    if (!visit(std::move(found)) || seen >= kPerPage) return std::to_string(document.id);
  }
  return {};
}

void PutLock(Connection& connection, const SqliteCollection& collection, std::int64_t id,
             const rules::LockState& lock, std::int64_t era) {
  // They have to live until the statement is reset.
  const std::string owner = OwnerText(lock.owner), shares = SharesText(lock.shares),
                    queue = QueueText(lock.queue);
  const Running put(connection.Prepared(collection.sql(Statements::kPutLock)));
  const auto number = [&](Column column, std::int64_t value) { put->Bind(column + 1, value); };
  const auto time = [&](Column column, TimePoint value) {
    put->Bind(column + 1, value.time_since_epoch());
  };
  const auto uuid = [&](Column column, const Uuid& value) {
    value.is_nil() ? put->BindNull(column + 1) : put->Bind(column + 1, value);
  };
  const auto text = [&](Column column, const std::string& value) {
    value.empty() ? put->BindNull(column + 1) : put->Bind(column + 1, value);
  };
  number(kRow, id);
  number(kVersion, lock.version);
  uuid(kId, lock.lock_id);
  time(kTime, lock.lease.since);
  number(kTtl, lock.lease.ttl.count());
  time(kSince, lock.granted);
  time(kClosed, lock.closed_until);
  number(kFence, lock.fence);
  text(kOwner, owner);
  text(kGroup, lock.group);
  uuid(kBorn, lock.born);
  uuid(kReleased, lock.released);
  text(kShares, shares);
  text(kQueue, queue);
  number(kSlot, lock.lease.instance);
  number(kEra, era);
  put->ChangeOne();
}

}  // namespace doclock::sqlite
