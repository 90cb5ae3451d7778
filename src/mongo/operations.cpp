#include "mongo/operations.h"

#include <array>

#include "mongo/lock_filters.h"

namespace doclock::mongo {
namespace {

/// Beside the lock's fields in one command's answer.
constexpr const char* kNow = "doclockNow";

Doc LockProjection(const LockFieldNames& names) {
  Doc projection;
  for (const std::string* field : {&names.id, &names.time, &names.ttl, &names.version, &names.born,
                                   &names.owner, &names.released, &names.closed}) {
    projection.Add(*field, 1);
  }
  projection.Add(kNow, "$$NOW");
  return projection;
}

}  // namespace

void Busy(StoreOp& op, const StoredLock& lock) {
  op.status = OpStatus::kBusy;
  op.detail = std::make_unique<OpDetail>();
  if (lock.live()) {
    op.detail->holder = lock.holder;
    op.detail->remaining = lock.remaining;
  } else if (lock.closed_left.count() > 0) {
    op.detail->remaining = lock.closed_left;
  }
}

void Malformed(StoreOp& op) {
  op.Fail(Errc::kMalformed, "the lock fields of the document do not hold what this library writes");
}

bool Operations::Settled(StoreOp& op, const Reply& reply) {
  switch (reply.outcome) {
    case Outcome::kAnswered:
      break;
    case Outcome::kRefused:
      op.Fail(Errc::kRefused, reply.text);
      return true;
    case Outcome::kNotSent:
      op.Fail(Errc::kUnavailable, reply.text);
      return true;
    case Outcome::kDoubt:
      op.Doubt(reply.text);
      return true;
  }
  if (!reply.is_duplicate() || reply.duplicate == "_id") return false;
  op.status = OpStatus::kConflict;
  op.detail = std::make_unique<OpDetail>();
  op.detail->index = reply.duplicate;
  return true;
}

void Operations::Execute(StoreOp& op) {
  try {
    switch (op.kind) {
      case OpKind::kAcquire:
        return Execute(static_cast<AcquireOp&>(op));
      case OpKind::kWrite:
        return Execute(static_cast<WriteOp&>(op));
      case OpKind::kSave:
        return Execute(static_cast<SaveOp&>(op));
      case OpKind::kRead:
        return Execute(static_cast<ReadOp&>(op));
      case OpKind::kRenew: {
        RenewOp* const one = &static_cast<RenewOp&>(op);
        return Renew({&one, 1});
      }
    }
  } catch (const DocumentException& error) {
    // The body was put into BSON before anything was sent.
    op.Fail(Errc::kDocument, error.what());
  }
}

void Operations::Bound(Doc& command) const {
  command.Add("maxTimeMS", std::max<std::int64_t>(budget_.count(), 1));
}

void Operations::Write(Doc& command, Reply& reply) {
  Bound(command);
  Server::AddWriteConcern(command, budget_);
  server_.Run(command, Effect::kWrites, reply);
}

void Operations::FindAndModify(const Collection& collection, const Doc& filter, const Doc& rest,
                               Reply& reply) {
  Doc command;
  command.Add("findAndModify", std::string_view(collection.name())).Add("query", filter);
  bson_concat(command.get(), rest.get());
  Write(command, reply);
}

void Operations::UpdateOne(const Collection& collection, const Doc& filter, const Update& update,
                           Reply& reply) {
  Doc statement;
  statement.Add("q", filter);
  update.AddTo(statement, "u");
  Array statements;
  statements.Add(statement);
  Doc command;
  command.Add("update", std::string_view(collection.name())).AddArray("updates", statements.doc());
  Write(command, reply);
}

void Operations::DeleteOne(const Collection& collection, const Doc& filter, Reply& reply) {
  Doc statement;
  statement.Add("q", filter).Add("limit", 1);
  Array statements;
  statements.Add(statement);
  Doc command;
  command.Add("delete", std::string_view(collection.name())).AddArray("deletes", statements.doc());
  Write(command, reply);
}

std::optional<StoredLock> Operations::Look(const Collection& collection, const Key& key,
                                           Reply& reply) {
  Doc command;
  command.Add("find", std::string_view(collection.name()));
  command.Add("filter", Doc::Of("_id", Equals(key)));
  command.Add("projection", LockProjection(collection.fields())).Add("limit", 1);
  command.Add("singleBatch", true);
  // Local: a majority may still say "free" where a duplicate key says "held".
  command.Add("readConcern", Doc::Of("level", "local"));
  Bound(command);
  server_.Run(command, Effect::kReads, reply);
  std::optional<StoredLock> lock;
  if (!reply.answered()) return lock;
  reply.ForEachInBatch([&](const bson_t& doc) {
    bson_iter_t now;
    if (FindField(doc, kNow, now)) {
      lock = ReadStoredLock(doc, collection, bson_iter_date_time(&now));
    }
    return false;
  });
  return lock;
}

}  // namespace doclock::mongo
