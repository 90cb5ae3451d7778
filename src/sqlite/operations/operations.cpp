#include "sqlite/operations/operations.h"

#include <algorithm>

#include "rules/fault.h"
#include "sqlite/db/database_error.h"
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

void Operations::Put(const SqliteCollection& collection, const StoredLock& lock) {
  const Running put(connection_.Prepared(collection.tables(), Sql::kPutLock));
  put->Bind(1, lock.doc);
  BindLock(*put, lock);
  put->Step();
}

bool Operations::PutDocument(StoreOp& op, const StoredLock& lock, const Body& body) {
  const SqliteCollection& collection = CollectionOf(op);
  if (!body) {
    Put(collection, lock);
    return true;
  }
  const Running put(connection_.Prepared(collection.tables(), Sql::kPutDocument));
  put->Bind(1, lock.doc);
  BindLock(*put, lock);
  put->Bind(13, std::string_view(body.text()));
  return RunWithBody(op, *put);
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

void Operations::Busy(StoreOp& op, const Verdict& verdict) {
  const auto lease_left = verdict.live ? verdict.lease_left : std::chrono::milliseconds(0);
  // min_hold keeps locks closed, not saves.
  const bool locks = op.kind == OpKind::kAcquire;
  Busy(op, verdict.live ? verdict.owner : 0,
       locks ? std::max(lease_left, verdict.closed_left) : lease_left);
  if (!verdict.live && verdict.closed) op.detail->message = "min_hold";
}

void Operations::Busy(StoreOp& op, std::int64_t owner, std::chrono::milliseconds remaining) {
  op.status = OpStatus::kBusy;
  op.detail = std::make_unique<OpDetail>();
  op.detail->holder = around_.owners.Find(connection_, owner);
  op.detail->remaining = remaining;
}

void Operations::Conflict(StoreOp& op, std::int64_t found_version) {
  op.status = OpStatus::kConflict;
  op.detail = std::make_unique<OpDetail>();
  op.detail->found_version = found_version;
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
