#include "document/json/merged.h"
#include "sqlite/db/unix_time.h"
#include "sqlite/operations/operations.h"

namespace doclock::sqlite {
namespace {

bool IsHeldBy(const StoredLock& lock, const WriteOp& op) noexcept {
  return !op.lock_id.is_nil() && op.lock_id != kSharedLockId && lock.id == op.lock_id &&
         (op.expected == kAnyVersion || op.expected == lock.version);
}

}  // namespace

void Operations::Execute(WriteOp& op) {
  if (op.mode == LockMode::kShared) return ReleaseShare(op);
  if (ReleaseKnown(op)) return;
  std::optional<StoredDocument> document = FindToWrite(op);
  if (!document) {
    op.status = OpStatus::kMissing;
  } else if (document->lock.malformed) {
    Malformed(op, document->lock.bad_column);
  } else if (!IsHeldBy(document->lock, op)) {
    op.status = OpStatus::kLost;
  } else {
    Write(op, *document);
  }
}

/// Loads the document, with its body if there is something to merge into it.
std::optional<StoredDocument> Operations::FindToWrite(const WriteOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  if (op.merge && op.body) return FindWithBody(collection, *op.key);
  if (const auto lock = Find(collection, *op.key)) return StoredDocument{*lock, Body()};
  return std::nullopt;
}

/// The common release: one statement.
bool Operations::ReleaseKnown(WriteOp& op) {
  if (op.write != WriteKind::kRelease || op.merge || op.next != nullptr ||
      op.expected == kAnyVersion || op.lock_id.is_nil() || op.lock_id == kSharedLockId ||
      !op.mark.is_nil()) {
    return false;
  }
  const SqliteCollection& collection = CollectionOf(op);
  const Running release(
      connection_.Prepared(collection.tables(), op.body ? Sql::kReleaseKnown : Sql::kUnlockKnown));
  release->Bind(1, *op.key);
  release->Bind(2, op.lock_id);
  release->Bind(3, op.expected);
  release->Bind(5, now_.time_since_epoch().count());
  release->Bind(6, UnixTime());
  if (op.body) release->Bind(4, std::string_view(op.body.text()));
  if (!RunWithBody(op, *release)) return true;
  if (connection_.Changes() != 1) return false;
  if (op.renewed) {
    const Running drop(connection_.Prepared(collection.tables(), Sql::kDeleteLeaseOf));
    drop->Bind(1, *op.key);
    drop->Step();
    places_.Remove(op.lock_id);
  }
  op.version = op.expected + 1;
  op.status = OpStatus::kDone;
  AddNotification(collection, op.hash);
  return true;
}

void Operations::Write(WriteOp& op, StoredDocument& document) {
  const SqliteCollection& collection = CollectionOf(op);
  StoredLock lock = document.lock;
  ++lock.version;
  if (op.write == WriteKind::kErase) {
    Erase(collection, lock);
  } else if (op.write == WriteKind::kCheckpoint) {
    around_.judge.Rebase(lock, now_);
    lock.ttl = op.ttl;
  } else {
    around_.judge.Rebase(lock, now_);
    lock.released = op.mark.is_nil() ? op.lock_id : op.mark;
    lock.id = Uuid{};
    if (op.next != nullptr) SetGrant(lock, *op.next);
  }
  if (op.write != WriteKind::kErase) {
    const Body body = op.merge && op.body ? Merged(document.body, op.body) : op.body;
    if (!PutDocument(op, lock, body)) return;
    if (op.next != nullptr) PutGroup(collection, lock.doc, *op.next);
    if (op.write == WriteKind::kRelease || lock.has_lease) DropLease(collection, lock);
  }
  places_.Remove(op.lock_id);
  op.version = lock.version;
  op.status = OpStatus::kDone;
  if (op.write != WriteKind::kCheckpoint && op.next == nullptr)
    AddNotification(collection, op.hash);
}

void Operations::Erase(const SqliteCollection& collection, StoredLock& lock) {
  const Running erase(connection_.Prepared(collection.tables(), Sql::kDelete));
  erase->Bind(1, lock.doc);
  erase->Step();
  DropLease(collection, lock);
  DropGroup(collection, lock.doc);
}

}  // namespace doclock::sqlite
