#include "sqlite/operations/operations.h"

#include <algorithm>

#include "rules/fault.h"
#include "sqlite/db/database_error.h"
#include "sqlite/db/unix_time.h"
#include "sqlite/schema/index_names.h"

namespace doclock::sqlite {

void Operations::Execute(StoreOp& op) {
  if (const char* const fault = FaultOf(op)) return op.Fail(Errc::kRefused, fault);
  try {
    Visit(op, [this](auto& one) { Execute(one); });
  } catch (const DocumentException& error) {
    // A body that cannot be dumped, or merged into the stored one. Nothing was written yet.
    op.Fail(Errc::kDocument, error.what());
  }
}

StoredLock Operations::RowOf(const LoadedLock& lock, TimePoint since) const {
  const rules::LockState& state = lock.state;
  StoredLock row = lock.row;
  row.id = state.lock_id;
  row.version = state.version;
  row.released = state.released;
  row.born = state.born;
  row.fence = state.fence;
  if (lock.queue_known) row.queued = !state.queue.empty();
  if (row.id.is_nil() && lock.row.id.is_nil()) return row;  // as free as it was
  row.time = since.time_since_epoch();
  row.boot = around_.evaluator.boot();
  row.wall = UnixTime() - std::chrono::floor<std::chrono::seconds>(now_ - since).count();
  row.closed = std::max(state.closed_until, TimePoint()).time_since_epoch();
  if (state.IsLive(now_)) row.ttl = state.lease.Left(now_);
  if (row.id.is_nil() && lock.row.id == kSharedLockId) row.slot = kIntentSlot;
  return row;
}

void Operations::Put(const SqliteCollection& collection, const StoredLock& row) {
  const Running put(connection_.Prepared(collection.tables(), Sql::kPutLock));
  put->Bind(1, row.doc);
  BindLock(*put, row);
  put->Step();
}

bool Operations::PutDocument(StoreOp& op, const StoredLock& row, const Body& body) {
  const SqliteCollection& collection = CollectionOf(op);
  if (!body) {
    Put(collection, row);
    return true;
  }
  const Running put(connection_.Prepared(collection.tables(), Sql::kPutDocument));
  put->Bind(1, row.doc);
  BindLock(*put, row);
  put->Bind(13, std::string_view(body.text()));
  return RunWithBody(op, *put);
}

bool Operations::PutNew(StoreOp& op, const StoredLock& row, const Body& body) {
  const Running insert(connection_.Prepared(CollectionOf(op).tables(), Sql::kInsert));
  insert->Bind(1, *op.key);
  BindLock(*insert, row);
  insert->Bind(13, std::string_view(body.text()));
  return RunWithBody(op, *insert);
}

bool Operations::RunWithBody(StoreOp& op, Statement& statement) {
  try {
    statement.Step();
    return true;
  } catch (const DatabaseError& error) {
    if (!error.is_about_values()) throw;
    const std::string index = error.unique_index();
    if (index.empty()) {
      op.Fail(Errc::kRefused, error.what());
      return false;
    }
    op.status = OpStatus::kConflict;
    op.detail = std::make_unique<OpDetail>();
    op.detail->index = FieldsOfIndex(index);
    return false;
  }
}

void Operations::AddNotification(const SqliteCollection& collection, std::size_t key_hash) {
  notifications_.push_back({collection.tag(), key_hash});
}

void Operations::AddNotification(const SqliteCollection& collection, std::size_t key_hash,
                                 const rules::LockState& state) {
  notifications_.push_back(
      {collection.tag(), key_hash, state.passed_on.done ? state.passed_on.instance : 0});
}

void Operations::PutGroup(const SqliteCollection& collection, const LoadedLock& lock) {
  if (lock.state.group.empty()) return;
  const Running put(connection_.Prepared(collection.tables(), Sql::kPutGroup));
  put->Bind(1, lock.row.doc);
  put->Bind(2, lock.state.lock_id);
  put->Bind(3, lock.state.group);
  put->Step();
}

void Operations::Drop(const SqliteCollection& collection, Sql which, std::int64_t doc) {
  const Running drop(connection_.Prepared(collection.tables(), which));
  drop->Bind(1, doc);
  drop->Step();
}

void Operations::DropLease(const SqliteCollection& collection, const StoredLock& before) {
  if (before.has_lease) Drop(collection, Sql::kDeleteLease, before.doc);
}

void Operations::DropShared(const SqliteCollection& collection, const StoredLock& before) {
  if (before.id == kSharedLockId) SharesOf(collection).DeleteAll(before.doc);
}

void Operations::DropIntent(const SqliteCollection& collection, const StoredLock& before) {
  if (MayHaveIntent(before)) SharesOf(collection).DeleteIntent(before.doc);
}

void Operations::Erase(const SqliteCollection& collection, const StoredLock& before) {
  Drop(collection, Sql::kDelete, before.doc);
  DropLease(collection, before);
  DropShared(collection, before);
  DropIntent(collection, before);
  Drop(collection, Sql::kDeleteGroup, before.doc);
  if (before.queued) QueueOf(collection).DeleteAll(before.doc);
}

void Operations::Malformed(StoreOp& op, const char* column) {
  op.Fail(Errc::kMalformed, MalformedText(column));
}

std::string MalformedText(const char* column) {
  std::string text = "the lock columns of the document do not hold what this library writes";
  if (column) text += std::string(" (") + column + ")";
  return text;
}

}  // namespace doclock::sqlite
