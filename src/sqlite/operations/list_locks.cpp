#include <algorithm>
#include <charconv>

#include "rules/looking.h"
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
    AddRows(collection, lock, *row, query, page.rows);
    // Many shares of few documents make a page too.
    const bool full = ++seen == kRowsPerPage || page.rows.size() >= kRowsPerPage;
    if (full && (which == Sql::kList || which == Sql::kListAll)) {
      page.next = std::to_string(lock.doc);
      break;
    }
  }
  return page;
}

void Reader::AddRows(const SqliteCollection& collection, const StoredLock& stored, Statement& row,
                     const LockQuery& query, std::vector<LockRow>& rows) {
  LockRow common;
  if (auto key = row.KeyAt(kKey)) common.key = *std::move(key);
  common.has_body = row.Integer(kHasBody) != 0;
  LoadedLock lock = LoadRow(collection, stored);
  lock.state.group = row.Text(kGroup);
  if (!lock.malformed) {
    SetAge(lock, row.Integer(kWall));
    if (lock.state.HasLockId()) LoadOwner(lock);
    LoadQueue(collection, lock);
    if (lock.state.IsShared()) LoadSharesToList(collection, lock);
    rules::AddRows(rows, common, lock.state, query, now_);
  }
  if (!lock.malformed || (!query.group.empty() && lock.state.group != query.group)) return;
  common.malformed = common.live = true;
  rows.push_back(std::move(common));
}

/// A grant or a release of before this boot is as old as the time of day says, if it does.
void Reader::SetAge(LoadedLock& lock, std::int64_t wall) const {
  rules::LockState& state = lock.state;
  state.granted = GrantedAt(lock.row, lock.row.time, wall);
  if (!state.HasLockId()) state.lease.since = state.granted - state.lease.ttl;
}

void Reader::LoadSharesToList(const SqliteCollection& collection, LoadedLock& lock) {
  SharesOf(collection).ForEach(lock.row.doc, [&](const StoredShare& share) {
    AddShare(collection, lock, share);
    if (share.lease.malformed) return true;
    rules::Share& added = lock.state.shares.back();
    added.granted = GrantedAt(share.lease, share.granted, share.lease.wall);
    added.owner = around_.owners.Find(connection_, share.lease.owner);
    return true;
  });
}

/// Now, if nothing is known.
TimePoint Reader::GrantedAt(const StoredLock& lock, std::chrono::nanoseconds granted,
                            std::int64_t wall) const {
  if (granted.count() == 0) return now_;
  if (around_.evaluator.IsComparable(lock, now_)) return TimePoint(granted);
  if (wall == 0) return now_;
  return now_ - std::chrono::seconds(std::max<std::int64_t>(UnixTime() - wall, 0));
}

}  // namespace doclock::sqlite
