#include <algorithm>

#include "mongodb/bson/body_codec.h"
#include "mongodb/operations/operations.h"
#include "rules/looking.h"

namespace doclock::mongodb {
namespace {

void Fill(ReadOp& op, const bson_t& doc, std::int64_t now) {
  const Collection& collection = *op.collection;
  const StoredLock lock = ReadStoredLock(doc, collection, now);
  if (lock.malformed()) return Malformed(op, lock);
  op.body = Body::FromJson(ReadBody(doc, collection.fields()));
  rules::Read(op, lock, kLookedAt);
}

Doc PipelineFor(std::span<ReadOp* const> ops) {
  Doc whole;
  whole.Add("doc", "$$ROOT").Add("now", "$$NOW");
  Array ids;
  for (const ReadOp* op : ops) ids.Add(*op->key);
  const Doc filter = ops.size() == 1 ? Equals(*ops.front()->key) : Doc::OfArray("$in", ids.doc());
  Array stages;
  stages.Add(Doc::Of("$match", Doc::Of("_id", filter)));
  stages.Add(Doc::Of("$replaceWith", whole));
  return Doc::OfArray("pipeline", stages.doc());
}

/// Fills in each operation that asked for this document: the only one, if it is. False: none did.
bool FillAskers(std::span<ReadOp* const> ops, const bson_t& doc, std::int64_t now) {
  if (ops.size() == 1) {
    Fill(*ops.front(), doc, now);
    return true;
  }
  bson_iter_t id;
  Key key;
  if (!FindField(doc, "_id", id) || !ReadKey(id, key)) return false;
  bool asked = false;
  for (ReadOp* const op : ops) {
    if (*op->key != key) continue;
    Fill(*op, doc, now);
    asked = true;
  }
  return asked;
}

}  // namespace

void Moment::KeepFrom(const Reply& reply) {
  bson_t cursor;
  bson_iter_t time;
  if (!FindDocument(reply.doc(), "cursor", cursor)) return;
  if (!FindField(cursor, "atClusterTime", time)) return;
  concern_ = Doc::Of("level", "snapshot");
  concern_.Add("atClusterTime", *bson_iter_value(&time));
}

/// A linearizable read of many documents is linearizable for each: the server answers only once a
/// majority has confirmed that it was the primary after it had read.
void Operations::Read(std::span<ReadOp* const> ops, Moment* moment) {
  const Collection& collection = *ops.front()->collection;
  Doc command;
  command.Add("aggregate", std::string_view(collection.name()));
  bson_concat(command.get(), PipelineFor(ops).get());
  command.Add("cursor", Doc::Of("batchSize", static_cast<std::int64_t>(ops.size()) + 1));
  moment != nullptr ? moment->AddTo(command) : server_.AddLinearizable(command);
  Reply reply;
  Read(command, reply);
  if (moment != nullptr) moment->KeepFrom(reply);
  for (ReadOp* op : ops) Settled(*op, reply);
  if (!reply.answered()) return;
  bool strangers = false;
  reply.ForEachInBatch([&](const bson_t& row) {
    bson_t doc;
    bson_iter_t now;
    if (!FindDocument(row, "doc", doc) || !FindField(row, "now", now)) return true;
    strangers = !FillAskers(ops, doc, bson_iter_date_time(&now)) || strangers;
    return true;
  });
  const std::int64_t cursor = reply.cursor_id();
  if (cursor != 0) Forget(collection, cursor);
  // Documents that did not fit into one answer, or whose _id only equals the key, are read one by
  // one.
  const bool all = ops.size() == 1 || (cursor == 0 && !strangers);
  for (ReadOp* op : ops) {
    if (op->status != OpStatus::kPending) continue;
    if (all) {
      op->status = OpStatus::kMissing;
    } else {
      Read({&op, 1}, moment);
    }
  }
}

}  // namespace doclock::mongodb
