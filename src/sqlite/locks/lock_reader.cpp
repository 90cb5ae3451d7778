#include "sqlite/locks/lock_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "rules/shares.h"
#include "sqlite/db/unix_time.h"
#include "sqlite/locks/stored_document.h"

namespace doclock::sqlite {
namespace {

/// Rows that one page looks at.
constexpr std::size_t kRowsPerPage = 1000;

// Behind kStoredColumns.
constexpr int kKey = kStoredColumnCount, kWall = kKey + 1, kGroup = kKey + 2, kHasBody = kKey + 3;

std::int64_t PositionOf(const std::string& after) {
  std::int64_t position = INT64_MIN;
  std::from_chars(after.data(), after.data() + after.size(), position);
  return position;
}

Sql StatementFor(const LockQuery& query) noexcept {
  if (query.key) return Sql::kListKey;
  if (!query.group.empty()) return Sql::kListGroup;
  return query.unheld ? Sql::kListAll : Sql::kList;
}

}  // namespace

std::unique_ptr<LoadedDocument> LockReader::Find(const SqliteCollection& collection,
                                                 const Key& key) {
  std::optional<StoredDocument> stored = FindDocument(connection_, collection, key);
  if (!stored) return nullptr;
  auto document = std::make_unique<LoadedDocument>();
  document->row = stored->lock;
  document->body = std::move(stored->body);
  Load(collection, *document);
  return document;
}

bool LockReader::IsLocked(const SqliteCollection& collection, const LockColumns& row) {
  LoadedDocument document;
  document.row = row;
  LoadLease(collection, document);
  return document.malformed || document.lock.IsLive(now_);
}

void LockReader::Load(const SqliteCollection& collection, LoadedDocument& document) {
  LoadLease(collection, document);
  if (document.malformed) return;
  if (document.row.queued) LoadQueue(collection, document);
  if (document.lock.HasLockId() && !document.lock.IsShared()) {
    document.lock.owner = context_.owners.Find(connection_, document.row.owner);
  }
}

void LockReader::LoadLease(const SqliteCollection& collection, LoadedDocument& document) {
  document.malformed = document.row.malformed;
  document.bad_part = document.row.bad_column;
  if (document.malformed) return;
  document.lock = context_.evaluator.LockOf(document.row, now_);
  if (document.lock.IsShared()) LoadShares(collection, document);
}

void LockReader::LoadShares(const SqliteCollection& collection, LoadedDocument& document) {
  document.shares = Shares(connection_, collection.tables()).Of(document.row.doc);
  for (const StoredShare& share : document.shares) {
    if (share.lease.malformed) {
      document.malformed = true;
      document.bad_part = "the table of shares";
      return;
    }
    rules::Share& added = document.lock.shares.emplace_back();
    added.id = share.lease.id;
    added.lease = context_.evaluator.ShareOf(share.lease, now_);
    added.granted = TimePoint(share.granted);
    added.owner = context_.owners.Find(connection_, share.lease.owner);
    added.group = share.group;
    added.fence = share.lease.fence;
  }
  // The row's own lease only covers those of the shares, whose processes may be dead.
  rules::Cover(document.lock, now_);
}

/// Leaves out the entries of waiters that are gone.
void LockReader::LoadQueue(const SqliteCollection& collection, LoadedDocument& document) {
  rules::LockState& lock = document.lock;
  Queue(connection_, collection.tables()).ForEach(document.row.doc, [&](StoredEntry&& stored) {
    const bool holds = stored.entry.id == lock.lock_id && lock.IsLive(now_) &&
                       stored.entry.mode == LockMode::kExclusive;
    if (!stored.malformed && !holds && !context_.evaluator.IsGone(stored, now_)) {
      stored.entry.owner = context_.owners.Find(connection_, stored.owner);
      lock.queue.push_back(stored.entry);
    }
    document.entries.push_back(std::move(stored));
  });
}

std::string LockReader::ScanLocks(const SqliteCollection& collection, const LockQuery& query,
                                  const std::string& after,
                                  const std::function<bool(locking::Candidate&&)>& visit) {
  const Running row(connection_.Prepared(collection.tables(), StatementFor(query)));
  row->Bind(1, PositionOf(after));
  if (query.key) {
    row->Bind(2, *query.key);
  } else if (!query.group.empty()) {
    row->Bind(2, query.group);
  }
  std::size_t seen = 0;
  while (row->Step()) {
    LoadedDocument document;
    document.row = ReadLockColumns(*row, collection.default_ttl());
    Load(collection, document);
    if (!document.malformed) SetAges(document, row->Integer(kWall));
    // Many shares of few documents make a page too.
    seen += std::max<std::size_t>(document.shares.size(), 1);
    locking::Candidate found;
    if (auto key = row->KeyAt(kKey)) found.key = *std::move(key);
    found.lock = std::move(document.lock);
    found.lock.group = row->Text(kGroup);
    found.has_body = row->Integer(kHasBody) != 0;
    found.malformed = document.malformed;
    if (!visit(std::move(found)) || seen >= kRowsPerPage) return std::to_string(document.row.doc);
  }
  return {};
}

/// A grant or a release of before this boot is as old as the time of day says, if it does.
void LockReader::SetAges(LoadedDocument& document, std::int64_t wall) const {
  rules::LockState& lock = document.lock;
  lock.granted = GrantedAt(document.row, document.row.time, wall);
  if (!lock.HasLockId()) lock.lease.since = lock.granted - lock.lease.ttl;
  for (std::size_t i = 0; i < lock.shares.size(); ++i) {
    const StoredShare& share = document.shares[i];
    lock.shares[i].granted = GrantedAt(share.lease, share.granted, share.lease.wall);
  }
}

/// Now, if nothing is known.
TimePoint LockReader::GrantedAt(const LockColumns& lock, std::chrono::nanoseconds granted,
                                std::int64_t wall) const {
  if (granted.count() == 0) return now_;
  if (context_.evaluator.IsComparable(lock, now_)) return TimePoint(granted);
  if (wall == 0) return now_;
  return now_ - std::chrono::seconds(std::max<std::int64_t>(UnixTime() - wall, 0));
}

}  // namespace doclock::sqlite
