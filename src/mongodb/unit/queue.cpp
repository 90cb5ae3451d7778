#include "mongodb/statements/queue.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/lock_filters.h"
#include "mongodb/statements/statements.h"
#include "mongodb/unit/operations.h"
#include "rules/rules.h"

// The queue of a document's waiters: an attempt that takes its turn.

namespace doclock::mongodb {
namespace {

void Done(AcquireOp& op, const StoredLock& before, const bson_t& doc) {
  op.result.created = op.result.created && op.result.born == before.born;
  op.result.born = before.born;
  op.result.body = Body::FromJson(ReadBody(doc, op.collection->fields()));
  op.status = OpStatus::kDone;
}

/// Reads the document that a turn has met. Returns true; false if it met none, or its lock is
/// malformed.
bool ReadMet(const Reply& reply, const Collection& collection, bson_t& value, bson_t& doc,
             StoredLock& lock) {
  bson_iter_t now;
  if (!reply.Document("value", value) || !FindDocument(value, "doc", doc) ||
      !FindField(value, "now", now)) {
    return false;
  }
  lock = ReadStoredLock(doc, collection, bson_iter_date_time(&now));
  return !lock.malformed();
}

}  // namespace

/// Executes an attempt that may leave an entry, or meets a queue. One command tells the outcome, if
/// the document is there; or two, if a queue was likely and no other client has the lock after all.
/// Returns true; false if the document is not there, or its lock fields are malformed.
bool Operations::TakeTurn(AcquireOp& op) {
  if (op.request.grant.mode == LockMode::kShared)
    return TakeTurn(op, ShareTurn(op, server_.instance()));
  bool entered = false;
  if (op.queue_likely && op.request.grant.queue_for.count() > 0) {
    entered = Enter(op);
    if (op.status != OpStatus::kPending) return true;
    if (op.request.grant.queue_for.count() == 0) return false;
  }
  const bool told = TakeTurn(op, Turn(op, server_.instance()));
  // The entry stands, and may be granted the lock: a waiter that gives up has to leave it.
  if (entered && (op.status == OpStatus::kFailed || op.request.grant.queue_for.count() == 0)) {
    op.Doubt(op.detail ? op.detail->message : "the turn has no room in the document");
    return true;
  }
  return told;
}

/// Sends a turn's statement. Returns true; false if it has no answer, and the operation is settled;
/// or there is no room for an entry, so that the waiter polls.
bool Operations::SendTurn(AcquireOp& op, const Doc& statement, const Doc& projection,
                          Reply& reply) {
  // The document as it was: what the command made of it follows.
  ModifyAndShow(*op.collection, statement, projection, Doc(), reply);
  if (op.request.grant.queue_for.count() > 0 && (reply.is_invalid() || reply.is_too_large())) {
    op.request.grant.queue_for = {};
    return false;
  }
  return !GaveUp(op, reply);
}

/// Leaves the entry of a waiter where another client holds the lock, which settles the operation
/// unless the lease is over. Returns whether the entry stands.
bool Operations::Enter(AcquireOp& op) {
  const Collection& collection = *op.collection;
  Reply reply;
  if (!SendTurn(op, EntryStatement(op, server_.instance()), EntryProjection(collection), reply)) {
    return false;
  }
  bson_t value, doc;
  StoredLock before;
  if (!ReadMet(reply, collection, value, doc, before)) return false;
  if (before.IsLive(kLookedAt)) ReportTurn(op, before, doc);
  return true;
}

template <class AnyTurn>
bool Operations::TakeTurn(AcquireOp& op, const AnyTurn& turn) {
  const Collection& collection = *op.collection;
  Array stages;
  turn.AddStages(stages);
  Reply reply;
  if (!SendTurn(op, PipelineStatement(SoundLockFilter(op), stages),
                TurnProjection(collection, turn.Granted(), turn.Holds()), reply)) {
    return op.status != OpStatus::kPending;
  }
  bson_t value, doc;
  StoredLock before;
  if (!ReadMet(reply, collection, value, doc, before)) return false;
  if (!FlagAt(value, "granted")) return ReportTurn(op, before, doc);
  const bool shared = op.request.grant.mode == LockMode::kShared;
  op.result.took_over = before.HasLockId() && !(shared && before.IsShared());
  op.result.version = before.version + 1;
  Done(op, before, doc);
  return true;
}

/// The server has granted this attempt nothing: it holds the lock already, is busy, or is refused.
/// Returns true; false if the rules say otherwise, and another attempt follows.
bool Operations::ReportTurn(AcquireOp& op, const StoredLock& before, const bson_t& doc) {
  const bool holds = rules::HoldsAlready(op, before, kLookedAt);
  if (holds) Done(op, before, doc);
  rules::LockState after = before;
  rules::Acquire(op, after, kLookedAt);
  if (holds || op.status != OpStatus::kDone) return true;
  op.status = OpStatus::kPending;  // the document that the call has made stays in its result
  op.detail.reset();
  return false;
}

/// Reads the document of a grant of which the change stream told, but not all: the document is
/// large, say. Returns true; false if it does not show the grant, or not any more.
bool Operations::ReadGrant(AcquireOp& op) {
  Reply reply;
  Look(
      *op.collection, {&op.key, 1}, {.whole = true},
      [&](std::size_t, Shown&& shown) {
        if (!shown.lock.malformed() && rules::HoldsAlready(op, shown.lock, kLookedAt)) {
          ReportTurn(op, shown.lock, shown.doc);
        }
      },
      reply);
  return op.status == OpStatus::kDone;
}

}  // namespace doclock::mongodb
