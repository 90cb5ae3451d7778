#include "mongo/body_codec.h"
#include "mongo/lock_filters.h"
#include "mongo/operations.h"

namespace doclock::mongo {
namespace {

/// Looks and takes that may follow each other while others are faster.
constexpr int kMaxAttempts = 4;

enum class Image : std::uint8_t { kBefore, kAfter };

Doc RestOf(const Update& update, bool upsert, Image image = Image::kAfter) {
  Doc rest;
  update.AddTo(rest, "update");
  rest.Add("new", image == Image::kAfter).Add("upsert", upsert);
  return rest;
}

bool MadeByThis(const Reply& reply) {
  bson_t last;
  bson_iter_t iter;
  return reply.Document("lastErrorObject", last) &&
         bson_iter_init_find(&iter, &last, "updatedExisting") && !bson_iter_as_bool(&iter);
}

}  // namespace

void Operations::Execute(AcquireOp& op) {
  if (op.grant.lock_id.is_nil()) return op.Fail(Errc::kRefused, "a lock id must not be nil");
  op.created = op.took_over = false;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (TryAcquire(op) == Attempt::kSettled) return;
  }
  // Others were faster each time.
  op.status = OpStatus::kBusy;
  op.detail = std::make_unique<OpDetail>();
}

Operations::Attempt Operations::TryAcquire(AcquireOp& op) {
  bool created = false;
  if (TakeFree(op, created)) return Attempt::kSettled;
  Reply reply;
  const std::optional<StoredLock> seen = Look(*op.collection, *op.key, reply);
  if (Settled(op, reply)) return Attempt::kSettled;
  if (!seen) {
    if (op.insert) return Attempt::kAgain;
    op.status = OpStatus::kMissing;
    return Attempt::kSettled;
  }
  if (seen->state == StoredLock::State::kMalformed) {
    Malformed(op);
    return Attempt::kSettled;
  }
  if (!seen->takeable()) {
    Busy(op, *seen);
    return Attempt::kSettled;
  }
  return TakeOver(op, *seen) ? Attempt::kSettled : Attempt::kAgain;
}

/// One trip when the document is free or missing. False: it is neither.
bool Operations::TakeFree(AcquireOp& op, bool& created) {
  const Collection& collection = *op.collection;
  const bool in_pipeline = op.grant.min_hold.count() > 0;
  if (in_pipeline && op.insert) {
    if (!EnsureExists(op)) return true;
    created = op.created;
  }
  const bool upsert = op.insert && !in_pipeline;
  Doc filter;
  filter.Add("_id", Equals(*op.key));
  AddFree(filter, collection);
  AddNotClosed(filter, collection);
  AddGoodVersion(filter, collection);
  Update update(collection);
  update.Grant(op.grant);
  update.RaiseVersion();
  if (upsert) update.OnInsert(op.insert, NewUuid());
  Reply reply;
  FindAndModify(collection, filter, RestOf(update, upsert), reply);
  if (Settled(op, reply)) return true;
  if (reply.is_duplicate()) return false;
  return Granted(op, reply, created || (upsert && MadeByThis(reply)), false);
}

/// Makes the document, free, for a grant that modifiers cannot say. False: the operation is
/// settled.
bool Operations::EnsureExists(AcquireOp& op) {
  Update update(*op.collection);
  update.OnInsert(op.insert, NewUuid());
  Doc statement;
  statement.Add("q", Doc::Of("_id", Equals(*op.key)));
  update.AddTo(statement, "u");
  statement.Add("upsert", true);
  Array statements;
  statements.Add(statement);
  Doc command;
  command.Add("update", std::string_view(op.collection->name()));
  command.AddArray("updates", statements.doc());
  Reply reply;
  Write(command, reply);
  if (Settled(op, reply)) return false;
  bson_iter_t iter;
  if (bson_iter_init_find(&iter, &reply.doc(), "upserted")) op.created = true;
  return true;
}

/// Somebody's lease, or their min_hold, is over. False: others were faster.
bool Operations::TakeOver(AcquireOp& op, const StoredLock& seen) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  const bool expired = seen.state == StoredLock::State::kExpired;
  Doc filter;
  filter.Add("_id", Equals(*op.key));
  if (expired) {
    bson_concat(filter.get(), seen.id.get());
    filter.Add("$expr", ExpiredExpr(collection));
  } else {
    AddFree(filter, collection);
  }
  if (seen.closed.empty()) {
    AddNotClosed(filter, collection);
  } else {
    bson_concat(filter.get(), seen.closed.get());
  }
  filter.Add(names.version,
             seen.version == 0 ? Doc::Of("$not", Doc::Of("$gt", 0)) : Equals(seen.version));
  Update update(collection);
  update.Grant(op.grant);
  update.RaiseVersion();
  if (!seen.closed.empty()) update.ForgetClosed();
  Reply reply;
  FindAndModify(collection, filter, RestOf(update, false), reply);
  if (Settled(op, reply)) return true;
  return Granted(op, reply, op.created, expired);
}

/// False: nothing matched.
bool Operations::Granted(AcquireOp& op, const Reply& reply, bool created, bool took_over) {
  bson_t value;
  if (!reply.Document("value", value)) return false;
  const StoredLock lock = ReadStoredLock(value, *op.collection, 0);
  op.version = lock.version;
  op.born = lock.born;
  op.body = created ? op.insert : Body::FromJson(ReadBody(value, op.collection->fields()));
  op.created = created;
  op.took_over = took_over;
  op.status = OpStatus::kDone;
  return true;
}

bool Operations::AcquireFirst(AcquireOp& op, const Doc& filter, const Doc& sort, Key& key) {
  const Collection& collection = *op.collection;
  Doc free;
  AddFree(free, collection);
  AddGoodVersion(free, collection);
  Array either;
  either.Add(free).Add(Doc::Of("$expr", ExpiredExpr(collection)));
  Doc query;
  bson_concat(query.get(), filter.get());
  Array all;
  all.Add(Doc::OfArray("$or", either.doc())).Add(Doc::Of("$expr", OpenExpr(collection)));
  Doc lockable = Doc::OfArray("$and", all.doc());
  Array both;
  if (!query.empty()) both.Add(query);
  both.Add(lockable);
  Update update(collection);
  update.Grant(op.grant);
  update.RaiseVersion();
  if (op.grant.min_hold.count() == 0) update.ForgetClosed();
  // The document as it was says whether a lock was taken over; its body is the same.
  Doc rest = RestOf(update, false, Image::kBefore);
  if (!sort.empty()) rest.Add("sort", sort);
  Reply reply;
  FindAndModify(collection, Doc::OfArray("$and", both.doc()), rest, reply);
  if (Settled(op, reply)) return false;
  bson_t value;
  bson_iter_t id;
  if (!reply.Document("value", value) || !FindField(value, "_id", id)) return false;
  if (!ReadKey(id, key)) {
    op.Fail(Errc::kMalformed, "a document's _id is none that this library knows");
    return false;
  }
  op.key = &key;
  op.hash = key.Hash();
  const StoredLock before = ReadStoredLock(value, collection, 0);
  if (!Granted(op, reply, false, !before.lock_id.is_nil())) return false;
  op.version = before.version + 1;
  return true;
}

}  // namespace doclock::mongo
