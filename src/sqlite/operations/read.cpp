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

std::optional<StoredLock> Reader::FindById(const SqliteCollection& collection, std::int64_t doc) {
  const Running row(connection_.Prepared(collection.tables(), Sql::kFindById));
  row->Bind(1, doc);
  if (!row->Step()) return std::nullopt;
  return ReadStoredLock(*row, collection.default_ttl());
}

std::optional<StoredDocument> Reader::FindWithBody(const SqliteCollection& collection,
                                                   const Key& key) {
  const Running row(connection_.Prepared(collection.tables(), Sql::kFindWithBody));
  row->Bind(1, key);
  if (!row->Step()) return std::nullopt;
  return StoredDocument{ReadStoredLock(*row, collection.default_ttl()),
                        BodyAt(*row, kStoredColumnCount)};
}

void Reader::Execute(ReadOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  std::optional<StoredDocument> document = FindWithBody(collection, *op.key);
  if (!document) {
    op.status = OpStatus::kMissing;
    return;
  }
  const StoredLock& lock = document->lock;
  if (lock.malformed) return op.Fail(Errc::kMalformed, MalformedText(lock.bad_column));
  const Verdict verdict = Judged(collection, lock);
  if (verdict.malformed) return op.Fail(Errc::kMalformed, MalformedText(nullptr));
  op.body = std::move(document->body);
  op.version = lock.version;
  op.born = lock.born;
  op.lock_id = lock.id;
  op.released = lock.released;
  op.locked = verdict.live;
  op.remaining = verdict.lease_left;
  if (!lock.id.is_nil()) {
    op.holder = around_.owners.Find(connection_, verdict.live ? verdict.owner : lock.owner);
  }
  op.status = OpStatus::kDone;
}

}  // namespace doclock::sqlite
