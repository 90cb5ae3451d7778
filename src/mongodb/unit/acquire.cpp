#include "mongodb/bson/body_codec.h"
#include "mongodb/bson/bson.h"
#include "mongodb/query/query.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/lock_filters.h"
#include "mongodb/statements/queue.h"
#include "mongodb/statements/statements.h"
#include "mongodb/unit/execute.h"
#include "mongodb/unit/operations.h"
#include "rules/fault.h"

namespace doclock::mongodb {
namespace {

/// A text that is longer than a key may be.
Doc IsLongText() {
  const Doc text = Conditional(TypeIn("_id", {"string"}), "$_id", std::string());
  return Doc::Of("$expr", Call("$gt", Doc::Of("$strLenBytes", text), std::int64_t{kMaxKeyBytes}));
}

/// A text that is not UTF-8: no regular expression matches it.
Doc IsNoUtf8() {
  Doc id = Doc::Of("$type", "string");
  id.Add("$not", Doc::Of("$regex", "^"));
  return Doc::Of("_id", id);
}

/// Documents whose `_id` no Key can name must not be locked. Written so that no index is used: the
/// order's is the better one.
Doc KnownKeys() {
  Array unknown;
  unknown.Add(Doc::Of("_id", TypeOtherThan({BSON_TYPE_UTF8, BSON_TYPE_INT32, BSON_TYPE_INT64,
                                            BSON_TYPE_BINARY, BSON_TYPE_OID})));
  unknown.Add(IsLongText()).Add(IsNoUtf8());
  unknown.Add(Doc::Of("_id", Doc::Of("$lt", LowestUuid())));
  unknown.Add(Doc::Of("_id", Doc::Of("$gt", HighestUuid())));
  return Doc::Of("$nor", unknown);
}

bool MadeByThis(const Reply& reply) {
  bson_t last;
  bson_iter_t iter;
  return reply.Document("lastErrorObject", last) &&
         bson_iter_init_find(&iter, &last, "updatedExisting") && !bson_iter_as_bool(&iter);
}

}  // namespace

void Operations::Execute(AcquireOp& op) {
  if (op.request.grant.mode == LockMode::kShared) return AcquireShare(op);
  if (op.request.seems_granted && ReadGrant(op)) return;
  // Who waits has met the lock held, and others may wait where some did a moment ago: there it is
  // not tried first as if it were free.
  if ((op.queue_likely || op.request.grant.queue_for.count() > 0) && TakeTurn(op)) return;
  Execute(op, std::nullopt, 0);
}

void Operations::Execute(AcquireOp& op, std::optional<StoredLock> seen, int attempts) {
  for (; attempts < kMaxAttempts; ++attempts) {
    if (!seen) {
      if (TakeFree(op)) return;
      Reply reply;
      seen = LookFor(op, reply);
      if (Settled(op, reply)) return;
    }
    if (seen && MeetsQueue(op, *seen)) {
      if (TakeTurn(op)) return;
      seen.reset();
      continue;
    }
    if (JudgeAcquire(op, seen ? &*seen : nullptr)) return;
    if (seen && TakeOver(op, *seen)) return;
    seen.reset();
  }
  BusyWithOthers(op);
}

/// The server gave up: a foreign transaction may hold the document. The command has ended there, so
/// the lock was not taken unless the document shows it. True: the operation is settled.
bool Operations::GaveUp(AcquireOp& op, const Reply& reply) {
  if (!reply.ran_out_of_time()) return Settled(op, Single(reply));
  Reply look;
  const std::optional<StoredLock> seen =
      Operations(server_, pool_, deadline_ + std::chrono::milliseconds(250))
          .Look(*op.collection, *op.key, Sees::kConfirmed, look);
  if (!look.answered() || (seen && seen->ShowsGrant(op.request.grant))) {
    op.Doubt(reply.text);
  } else {
    op.Fail(Errc::kUnavailable, "the server gave up the call for want of time");
  }
  return true;
}

/// Acquires with one command if the document is free or missing. Returns true; false if it is
/// neither.
bool Operations::TakeFree(AcquireOp& op) {
  const bool upsert = CanUpsert(op);
  if (op.request.insert && !upsert && !EnsureExists(op)) return true;
  Reply reply;
  FindAndModify(*op.collection, op.key,
                StatementOf(op, nullptr, upsert ? op.request.grant.lock_id : Uuid{}),
                Doc::Of("new", true), reply);
  if (GaveUp(op, reply)) return true;
  if (reply.is_duplicate()) return false;
  return Granted(op, reply, upsert && MadeByThis(reply), false);
}

/// Creates the document, free, for a grant that modifiers cannot express: other clients may lock,
/// write or erase it before this operation does. Returns true; false if the operation is settled.
bool Operations::EnsureExists(AcquireOp& op) {
  const Uuid& born = op.request.grant.lock_id;
  Update update(*op.collection);
  update.OnInsert(op.request.insert, born);
  const Doc statement = UpdateStatement(Doc::Of("_id", Equals(*op.key)), update, true);
  Doc command = CommandOf(Verb::kUpdate, *op.collection, Array().Add(statement), true);
  Reply reply;
  Write(command, reply);
  if (Settled(op, Single(reply))) return false;
  bson_iter_t iter;
  if (bson_iter_init_find(&iter, &reply.doc(), "upserted")) {
    op.result.created = true;
    op.result.born = born;
  }
  return true;
}

/// Takes over a lock whose lease, or min_hold, is over. Returns true; false if another client was
/// faster.
bool Operations::TakeOver(AcquireOp& op, const StoredLock& seen) {
  Reply reply;
  FindAndModify(*op.collection, op.key, StatementOf(op, &seen, {}), Doc::Of("new", true), reply);
  if (GaveUp(op, reply)) return true;
  return Granted(op, reply, false, seen.HasLockId());
}

/// `inserted`: the command that granted the lock made the document too. Returns true; false if
/// nothing matched.
bool Operations::Granted(AcquireOp& op, const Reply& reply, bool inserted, bool took_over) {
  bson_t value;
  if (!reply.Document("value", value)) return false;
  const StoredLock lock = ReadStoredLock(value, *op.collection, 0);
  if (lock.lock_id != op.request.grant.lock_id) {
    op.Doubt(kOtherQuestion);
    return true;
  }
  op.result.created = inserted || (op.result.created && op.result.born == lock.born);
  op.result.version = lock.version;
  op.result.born = lock.born;
  op.result.body =
      inserted ? op.request.insert : Body::FromJson(ReadBody(value, op.collection->fields()));
  op.result.took_over = took_over;
  op.status = OpStatus::kDone;
  return true;
}

bool Operations::AcquireFirst(AcquireOp& op, const Doc& filter, const Doc& sort, Key& key) {
  const Collection& collection = *op.collection;
  Doc free = Doc::Of(
      "$expr", And(NotLiveExpr(collection), OpenExpr(collection), NobodyWaitsExpr(collection)));
  AddSoundLock(free, collection);
  Array all;
  all.Add(filter).Add(free);
  Update update(collection);
  update.Grant(op.request.grant);
  update.RaiseVersion();
  if (op.request.grant.min_hold.count() == 0) update.ForgetClosed();
  update.ForgetShares();
  update.ForgetQueue();
  Doc rest;
  if (!sort.empty()) rest.Add("sort", sort);
  Reply reply;
  // The document as it was says whether a lock was taken over; its body is the same.
  ModifyAndShow(collection, UpdateStatement(Doc::Of("$and", all), update), Doc::Of("doc", "$$ROOT"),
                rest, reply);
  if (Settled(op, Single(reply))) return false;
  bson_t value, doc;
  bson_iter_t id;
  if (!reply.Document("value", value) || !FindDocument(value, "doc", doc)) return false;
  if (!FindField(doc, "_id", id)) return false;
  if (!ReadKey(id, key)) {
    op.Fail(Errc::kMalformed, "a document's _id is none that this library knows");
    return false;
  }
  op.key = &key;
  op.hash = key.Hash();
  const StoredLock before = ReadStoredLock(doc, collection, 0);
  op.result.took_over = before.HasLockId();
  op.result.version = before.version + 1;
  op.result.born = before.born;
  op.result.body = Body::FromJson(ReadBody(doc, collection.fields()));
  op.status = OpStatus::kDone;
  return true;
}

void AcquireNext(Server& server, const Filter& filter, AcquireOp& op, Key& key,
                 std::chrono::milliseconds budget) {
  if (const char* const fault = FaultOfNext(op.request.grant))
    return op.Fail(Errc::kRefused, fault);
  op.status = OpStatus::kMissing;
  if (filter.lock_state() == Filter::LockState::kLocked) return;
  Operations operations(server, budget);
  const Doc match = MatchOf(filter);
  for (const Pass& pass : PassesOf(filter)) {
    const Doc wanted = And(match, pass.match, KnownKeys());
    if (operations.AcquireFirst(op, wanted, pass.sort, key)) return;
    if (op.status != OpStatus::kMissing) return;
  }
}

}  // namespace doclock::mongodb
