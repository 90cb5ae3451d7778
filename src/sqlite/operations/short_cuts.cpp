#include "sqlite/operations/short_cuts.h"

#include "rules/acquire.h"
#include "sqlite/db/database_error.h"
#include "sqlite/db/unix_time.h"
#include "sqlite/locks/lock_writer.h"
#include "sqlite/locks/stored_document.h"

namespace doclock::sqlite {
namespace {

bool IsPlainRelease(const WriteOp& op) noexcept {
  return op.write == WriteKind::kRelease && op.mode == LockMode::kExclusive && !op.merge &&
         op.next == nullptr && op.expected != kAnyVersion && !op.lock_id.is_nil() &&
         op.lock_id != kSharedLockId && op.release_id.is_nil();
}

bool IsPlainLeave(const WriteOp& op) noexcept {
  return op.mode == LockMode::kShared && !op.body && op.release_id.is_nil();
}

}  // namespace

bool ShortCuts::Try(StoreOp& op) {
  bool done = false;
  if (op.kind == OpKind::kAcquire) {
    done = TakeShare(static_cast<AcquireOp&>(op));
  } else if (op.kind == OpKind::kRenew) {
    done = Renew(static_cast<RenewOp&>(op));
  } else if (op.kind == OpKind::kWrite) {
    auto& write = static_cast<WriteOp&>(op);
    done = (IsPlainRelease(write) && Release(write)) || (IsPlainLeave(write) && LeaveShare(write));
    if (done) notifications_.push_back({CollectionOf(op).tag(), op.hash});
  }
  op.status = done ? OpStatus::kDone : OpStatus::kPending;
  return done;
}

/// Mostly there is room even if all other shares are live: one stands for all of them, so that no
/// grant reads a thousand rows.
bool ShortCuts::TakeShare(AcquireOp& op) {
  if (op.grant.mode != LockMode::kShared) return false;
  const SqliteCollection& collection = CollectionOf(op);
  std::optional<StoredDocument> stored = FindDocument(connection_, collection, *op.key);
  if (!stored || stored->lock.malformed || stored->lock.id != kSharedLockId ||
      stored->lock.queued || stored->lock.born.is_nil()) {
    return false;
  }
  LoadedDocument document;
  document.row = stored->lock;
  document.body = stored->body;
  document.lock = context_.evaluator.LockOf(stored->lock, now_);
  const ShareRows rows = Shares(connection_, collection.tables()).Glance(stored->lock.doc);
  if (rows.malformed || rows.shares == 0 || rows.shares >= op.grant.max_holders ||
      document.lock.IsClosed(now_) || !document.lock.IsLive(now_)) {
    return false;
  }
  document.shares.emplace_back();
  document.lock.shares.emplace_back().lease = document.lock.lease;
  locking::Change change(op);
  change.was = &document;
  rules::Acquire(op, change.Edit().lock, now_, context_.coordinator.slot());
  op.body = document.body;
  // Refused: there is one of this id.
  return LockWriter(connection_, context_, renewal_rows_, now_, notifications_).Put(change);
}

/// The lease's row has the lock's id exactly while the lock has it (every write of ours that takes
/// the lock from an id deletes its lease; what foreign tools do shows in the document), so one
/// small statement decides; two for a share, whose own row decides.
bool ShortCuts::Renew(const RenewOp& op) {
  const auto doc = op.detached ? std::nullopt : renewal_rows_.Find(op.lock_id, op.hash);
  if (!doc) return false;
  if (op.mode == LockMode::kShared) return RenewShare(op, *doc);
  connection_.Run(CollectionOf(op).tables(), Sql::kRenewLease, *doc, op.lock_id,
                  now_.time_since_epoch(), op.ttl);
  return connection_.Changes() == 1;
}

bool ShortCuts::RenewShare(const RenewOp& op, std::int64_t doc) {
  Shares shares(connection_, CollectionOf(op).tables());
  const auto now = now_.time_since_epoch();
  const bool renewed = shares.Renew(doc, op.lock_id, now, op.ttl, context_.coordinator.slot(),
                                    context_.evaluator.boot());
  if (renewed) shares.Cover(doc, now, op.ttl);
  return renewed;
}

bool ShortCuts::Release(WriteOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  const Running release(
      connection_.Prepared(collection.tables(), op.body ? Sql::kReleaseKnown : Sql::kUnlockKnown));
  try {
    if (op.body) release->Bind(4, std::string_view(op.body.text()));
    release->Bind(1, *op.key);
    release->Bind(2, op.lock_id);
    release->Bind(3, op.expected);
    release->Bind(5, now_.time_since_epoch());
    release->Bind(6, UnixTime());
    release->Bind(7, context_.evaluator.boot());
    release->Step();
  } catch (const DocumentException&) {
    return false;  // the long way tells
  } catch (const DatabaseError& error) {
    if (!error.is_about_values() || !connection_.InTransaction()) throw;
    return false;
  }
  if (connection_.Changes() != 1) return false;
  if (op.renewed) {
    connection_.Run(collection.tables(), Sql::kDeleteLeaseOf, *op.key);
    renewal_rows_.Remove(op.lock_id);
  }
  op.version = op.expected + 1;
  return true;
}

/// What most releases of shares are: others of this process stay.
bool ShortCuts::LeaveShare(WriteOp& op) {
  const SqliteCollection& collection = CollectionOf(op);
  renewal_rows_.Remove(op.lock_id);
  const Running find(connection_.Prepared(collection.tables(), Sql::kSharedId));
  find->Bind(1, *op.key);
  find->Bind(2, kSharedLockId);
  if (!find->Step()) return false;
  op.version = find->Integer(1);
  return Shares(connection_, collection.tables())
      .Leave(find->Integer(0), op.lock_id, now_.time_since_epoch(), context_.coordinator.slot(),
             context_.evaluator.boot());
}

bool ShortCuts::Shows(const LoadedDocument* document, const StoreOp& op, TimePoint now) {
  if (document == nullptr) return false;
  if (op.kind == OpKind::kAcquire) {
    const auto& acquire = static_cast<const AcquireOp&>(op);
    return document->lock.LiveShare(acquire.grant.lock_id, now) != nullptr;
  }
  if (op.kind == OpKind::kRenew) {
    const auto& renew = static_cast<const RenewOp&>(op);
    if (renew.mode == LockMode::kExclusive) {
      return document->lock.lock_id == renew.lock_id && document->lock.lease.since == now;
    }
    const rules::Share* const share = document->lock.LiveShare(renew.lock_id, now);
    return share != nullptr && share->lease.since == now;
  }
  const auto& write = static_cast<const WriteOp&>(op);
  if (write.mode == LockMode::kShared) {
    return document->lock.LiveShare(write.lock_id, now) == nullptr;
  }
  return document->lock.version == write.version;
}

}  // namespace doclock::sqlite
