#include "mongo/body_codec.h"
#include "mongo/operations.h"

namespace doclock::mongo {

void Operations::Execute(ReadOp& op) {
  const Collection& collection = *op.collection;
  Doc whole;
  whole.Add("doc", "$$ROOT").Add("now", "$$NOW");
  Array stages;
  stages.Add(Doc::Of("$match", Doc::Of("_id", Equals(*op.key))));
  stages.Add(Doc::Of("$replaceWith", whole));
  Doc command;
  command.Add("aggregate", std::string_view(collection.name()));
  command.AddArray("pipeline", stages.doc()).Add("cursor", Doc());
  server_.AddLinearizable(command);
  Bound(command);
  Reply reply;
  server_.Run(command, Effect::kReads, reply);
  if (Settled(op, reply)) return;
  op.status = OpStatus::kMissing;
  reply.ForEachInBatch([&](const bson_t& row) {
    bson_t doc;
    bson_iter_t now;
    if (!FindDocument(row, "doc", doc) || !FindField(row, "now", now)) return false;
    const StoredLock lock = ReadStoredLock(doc, collection, bson_iter_date_time(&now));
    if (lock.state == StoredLock::State::kMalformed) {
      Malformed(op);
      return false;
    }
    op.body = Body::FromJson(ReadBody(doc, collection.fields()));
    op.version = lock.version;
    op.born = lock.born;
    op.lock_id = lock.lock_id;
    op.released = lock.released;
    op.locked = lock.live();
    op.remaining = lock.live() ? lock.remaining : std::chrono::milliseconds(0);
    op.holder = lock.holder;
    op.status = OpStatus::kDone;
    return false;
  });
}

}  // namespace doclock::mongo
