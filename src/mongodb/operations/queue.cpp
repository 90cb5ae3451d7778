#include "mongodb/bson/body_codec.h"
#include "mongodb/operations/operations.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/share_turn.h"
#include "mongodb/protocol/sound_lock.h"
#include "mongodb/protocol/statements.h"
#include "mongodb/protocol/turn.h"
#include "rules/acquire.h"
#include "rules/holder.h"

// The queue of a document's waiters: an attempt that takes its turn.

namespace doclock::mongodb {
namespace {

void Done(AcquireOp& op, const StoredLock& before, const bson_t& doc) {
  op.born = before.born;
  op.body = Body::FromJson(ReadBody(doc, op.collection->fields()));
  op.status = OpStatus::kDone;
}

}  // namespace

/// Executes an attempt that may leave an entry, or meets a queue. One command tells the outcome, if
/// the document is there. False: it is not, or its lock fields are malformed.
bool Operations::TakeTurn(AcquireOp& op) {
  if (op.grant.mode == LockMode::kShared) return TakeTurn(op, ShareTurn(op, server_.instance()));
  return TakeTurn(op, Turn(op, server_.instance()));
}

template <class AnyTurn>
bool Operations::TakeTurn(AcquireOp& op, const AnyTurn& turn) {
  const Collection& collection = *op.collection;
  Array stages;
  turn.AddStages(stages);
  Doc rest;
  // The document as it was: what the command made of it follows from `granted`.
  rest.AddArray("update", stages.doc()).Add("new", false);
  rest.Add("fields", TurnProjection(collection, turn.Granted(), turn.Holds()));
  Reply reply;
  FindAndModify(collection, SoundLockFilter(op), rest, reply);
  if (op.grant.queue_for.count() > 0 && (reply.is_invalid() || reply.is_too_large())) {
    op.grant.queue_for = {};  // there is no room for an entry: the waiter polls
    return false;
  }
  if (GaveUp(op, reply)) return true;
  bson_t value, doc;
  bson_iter_t now;
  if (!reply.Document("value", value) || !FindDocument(value, "doc", doc) ||
      !FindField(value, "now", now)) {
    return false;
  }
  const StoredLock before = ReadStoredLock(doc, collection, bson_iter_date_time(&now));
  if (before.malformed()) return false;
  if (!FlagAt(value, "granted")) return ReportTurn(op, before, doc);
  const bool shared = op.grant.mode == LockMode::kShared;
  op.created = op.created && op.born == before.born;
  op.took_over = before.HasLockId() && !(shared && before.IsShared());
  op.version = before.version + 1;
  Done(op, before, doc);
  return true;
}

/// The server has granted this attempt nothing: it holds the lock already, is busy, or is refused.
/// False: the rules say otherwise, and another attempt is to be made.
bool Operations::ReportTurn(AcquireOp& op, const StoredLock& before, const bson_t& doc) {
  const bool holds = rules::HoldsAlready(op, before, kLookedAt);
  rules::LockState after = before;
  rules::Acquire(op, after, kLookedAt);
  if (holds) {
    Done(op, before, doc);
    return true;
  }
  if (op.status == OpStatus::kDone) {
    op.status = OpStatus::kPending;
    return false;
  }
  return true;
}

/// Reads the document of a grant of which the change stream told, but not all: the document is
/// large, say. A majority shows the grant, so no later primary can have lost it. False: it does not
/// show the grant, or not any more.
bool Operations::ReadGrant(AcquireOp& op) {
  const LockFieldNames& names = op.collection->fields();
  Doc filter, projection, command;
  filter.Add("_id", Equals(*op.key)).Add(names.id, Equals(op.grant.lock_id));
  projection.Add("doc", "$$ROOT").Add("now", "$$NOW");
  command.Add("find", std::string_view(op.collection->name())).Add("filter", filter);
  command.Add("projection", projection).Add("limit", 1).Add("singleBatch", true);
  command.Add("readConcern", Doc::Of("level", "majority"));
  Reply reply;
  Read(command, reply);
  if (!reply.answered()) return false;
  reply.ForEachInBatch([&](const bson_t& row) {
    bson_t doc;
    bson_iter_t now;
    if (!FindDocument(row, "doc", doc) || !FindField(row, "now", now)) return false;
    const StoredLock lock = ReadStoredLock(doc, *op.collection, bson_iter_date_time(&now));
    if (!lock.malformed() && rules::HoldsAlready(op, lock, kLookedAt)) ReportTurn(op, lock, doc);
    return false;
  });
  return op.status == OpStatus::kDone;
}

}  // namespace doclock::mongodb
