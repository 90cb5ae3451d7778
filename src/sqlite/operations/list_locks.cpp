#include <algorithm>
#include <charconv>

#include "sqlite/db/unix_time.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {
namespace {

/// Rows that one page looks at.
constexpr std::int64_t kRowsPerPage = 1000;

// Behind kStoredColumns.
constexpr int kKey = kStoredColumnCount, kWall = kKey + 1, kGroup = kKey + 2, kHasBody = kKey + 3;

std::int64_t PositionOf(const std::string& after) {
  std::int64_t position = INT64_MIN;
  std::from_chars(after.data(), after.data() + after.size(), position);
  return position;
}

}  // namespace

LockPage Reader::List(const SqliteCollection& collection, const LockQuery& query,
                      const std::string& after) {
  Sql which = query.unheld ? Sql::kListAll : Sql::kList;
  if (!query.group.empty()) which = Sql::kListGroup;
  if (query.key) which = Sql::kListKey;
  const Running row(connection_.Prepared(collection.tables(), which));
  if (query.key) {
    row->Bind(1, *query.key);
  } else if (!query.group.empty()) {
    row->Bind(1, query.group);
  } else {
    row->Bind(1, PositionOf(after));
    row->Bind(2, kRowsPerPage);
  }
  LockPage page;
  std::int64_t seen = 0;
  while (row->Step()) {
    const StoredLock lock = ReadStoredLock(*row, collection.default_ttl());
    const bool wanted = query.unheld || lock.malformed || !lock.id.is_nil();
    if (!lock.malformed && lock.id == kSharedLockId) {
      AddShareRows(collection, lock, RowOf(collection, lock, *row), query.group, page.rows);
    } else if (wanted && (query.group.empty() || row->Text(kGroup) == query.group)) {
      page.rows.push_back(RowOf(collection, lock, *row));
    }
    // Many shares of few documents make a page too.
    const bool full = ++seen == kRowsPerPage || page.rows.size() >= kRowsPerPage;
    if (full && (which == Sql::kList || which == Sql::kListAll)) {
      page.next = std::to_string(lock.doc);
      break;
    }
  }
  return page;
}

LockRow Reader::RowOf(const SqliteCollection& collection, const StoredLock& lock, Statement& row) {
  LockRow result;
  if (auto key = row.KeyAt(kKey)) result.key = *std::move(key);
  result.has_body = row.Integer(kHasBody) != 0;
  result.malformed = lock.malformed;
  result.live = lock.malformed;
  if (lock.malformed) return result;
  const Verdict verdict = Judged(collection, lock);
  result.version = lock.version;
  result.born = lock.born;
  result.closed = verdict.closed;
  result.ttl = lock.lease_is_its ? lock.renewed_ttl : lock.ttl;
  result.age = AgeOf(lock, lock.time, row.Integer(kWall));
  if (lock.id.is_nil()) return result;
  result.lock_id = lock.id;
  if (lock.fence > 0) result.fence = lock.fence;
  result.live = verdict.live;
  result.left = verdict.lease_left;
  result.holder = around_.owners.Find(connection_, lock.owner);
  result.group = row.Text(kGroup);
  return result;
}

/// `row` is what all of them show of the document.
void Reader::AddShareRows(const SqliteCollection& collection, const StoredLock& lock,
                          const LockRow& row, const std::string& group,
                          std::vector<LockRow>& rows) {
  for (const StoredShare& share : SharesOf(collection).Of(lock.doc)) {
    if (!group.empty() && share.group != group) continue;
    LockRow& result = rows.emplace_back(row);
    const StoredLock& lease = share.lease;
    result.mode = LockMode::kShared;
    result.lock_id = lease.id;
    result.fence.reset();
    if (lease.fence > 0) result.fence = lease.fence;
    result.malformed = lease.malformed;
    result.live = lease.malformed;
    if (lease.malformed) continue;
    const Verdict verdict = around_.judge.OfShare(collection, lease, now_);
    result.live = verdict.live;
    result.left = verdict.lease_left;
    result.ttl = lease.ttl;
    result.age = AgeOf(lease, share.granted, lease.wall);
    result.holder = around_.owners.Find(connection_, lease.owner);
    result.group = share.group;
  }
}

std::chrono::milliseconds Reader::AgeOf(const StoredLock& lock, std::chrono::nanoseconds granted,
                                        std::int64_t wall) const {
  if (granted.count() == 0) return {};  // never
  const auto now = now_.time_since_epoch();
  if (around_.judge.IsComparable(lock, now)) {
    return std::chrono::floor<std::chrono::milliseconds>(now - granted);
  }
  // Granted before this boot: only the time of day says when.
  if (wall == 0) return {};
  return std::chrono::seconds(std::max<std::int64_t>(UnixTime() - wall, 0));
}

}  // namespace doclock::sqlite
