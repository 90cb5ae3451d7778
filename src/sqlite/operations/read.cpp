#include <algorithm>

#include "rules/acquire.h"
#include "rules/looking.h"
#include "rules/queue.h"
#include "rules/shares.h"
#include "rules/tidying.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {
namespace {

/// A value that is no text is no JSON either; the code that parses it gets the error.
Body BodyAt(const Statement& row, int column) {
  return Body::FromText(row.IsText(column) ? std::string(row.Text(column)) : std::string());
}

}  // namespace

std::optional<StoredLock> Reader::Find(const SqliteCollection& collection, const Key& key) {
  const Running row(connection_.Prepared(collection.tables(), Sql::kFind));
  row->Bind(1, key);
  if (!row->Step()) return std::nullopt;
  return ReadStoredLock(*row, collection.default_ttl());
}

std::optional<StoredDocument> Reader::FindWithBody(const SqliteCollection& collection,
                                                   const Key& key) {
  return FindDocument(connection_, collection, key);
}

std::optional<StoredDocument> FindDocument(Connection& connection,
                                           const SqliteCollection& collection, const Key& key) {
  const Running row(connection.Prepared(collection.tables(), Sql::kFindWithBody));
  row->Bind(1, key);
  if (!row->Step()) return std::nullopt;
  return StoredDocument{ReadStoredLock(*row, collection.default_ttl()),
                        BodyAt(*row, kStoredColumnCount)};
}

LoadedLock Reader::LoadRow(const SqliteCollection& collection, const StoredLock& row) {
  LoadedLock lock{row, {}, row.malformed};
  if (!row.malformed) lock.state = around_.evaluator.LockOf(collection, row, now_);
  return lock;
}

LoadedLock Reader::Load(const SqliteCollection& collection, const StoredLock& row) {
  LoadedLock lock = LoadRow(collection, row);
  if (lock.state.IsShared()) LoadShares(collection, lock);
  NoteIntent(collection, lock);
  return lock;
}

void Reader::LoadShares(const SqliteCollection& collection, LoadedLock& lock) {
  TimePoint last{};
  SharesOf(collection).ForEach(lock.row.doc, [&](const StoredShare& share) {
    AddShare(collection, lock, share);
    if (share.lease.malformed) return true;
    const TimePoint end = lock.state.shares.back().lease.End();
    if (end > last) lock.row.owner = share.lease.owner;
    last = std::max(last, end);
    return true;
  });
  // The row's own lease only covers those of the shares, whose processes may be dead.
  rules::Cover(lock.state, now_);
}

void Reader::AddShare(const SqliteCollection& collection, LoadedLock& lock,
                      const StoredShare& share) {
  if (share.lease.malformed) {
    lock.malformed = true;
    return;
  }
  rules::Share& added = lock.state.shares.emplace_back();
  added.id = share.lease.id;
  added.lease = around_.evaluator.ShareOf(collection, share.lease, now_);
  added.granted = TimePoint(share.granted);
  added.group = share.group;
  added.fence = share.lease.fence;
}

/// Of a malformed one the lock is, to one who asks for a share.
void Reader::LoadIntent(const SqliteCollection& collection, LoadedLock& lock) {
  const auto intent = SharesOf(collection).Intent(lock.row.doc);
  if (!intent) return;
  lock.malformed = lock.malformed || intent->malformed;
  if (!intent->malformed) lock.state.intent = around_.evaluator.IntentOf(collection, *intent, now_);
}

/// An intent of an earlier boot lapses one ttl after this store has first met it, so it has to be
/// met together with the shares, although only those who ask for a share wait for its end.
void Reader::NoteIntent(const SqliteCollection& collection, const LoadedLock& lock) {
  if (!MayHaveIntent(lock.row)) return;
  const auto intent = SharesOf(collection).Intent(lock.row.doc);
  if (!intent || intent->malformed) return;
  static_cast<void>(around_.evaluator.IntentOf(collection, *intent, now_));
}

void Reader::LoadOwner(LoadedLock& lock) {
  lock.state.owner = around_.owners.Find(connection_, lock.row.owner);
}

bool Reader::SeesPassedOn(AcquireOp& op) {
  std::optional<StoredDocument> document = FindWithBody(CollectionOf(op), *op.key);
  if (!document || document->lock.malformed || document->lock.born.is_nil()) return false;
  LoadedLock lock = LoadRow(CollectionOf(op), document->lock);
  if (!rules::HoldsAlready(op, lock.state, now_)) return false;
  rules::Acquire(op, lock.state, now_);
  op.body = std::move(document->body);
  return true;
}

void Reader::Execute(ReadOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  std::optional<StoredDocument> document = FindWithBody(collection, *op.key);
  if (!document) {
    op.status = OpStatus::kMissing;
    return;
  }
  LoadedLock lock = Load(collection, document->lock);
  if (lock.malformed) return op.Fail(Errc::kMalformed, MalformedText(lock.row.bad_column));
  if (lock.state.HasLockId()) LoadOwner(lock);
  op.body = std::move(document->body);
  rules::Read(op, lock.state, now_);
}

}  // namespace doclock::sqlite
