#include <algorithm>
#include <unordered_map>

#include "mongo/lock_filters.h"
#include "mongo/operations.h"

namespace doclock::mongo {
namespace {

Doc IdsOf(std::span<RenewOp* const> ops) {
  Array ids;
  for (const RenewOp* op : ops) ids.Add(*op->key);
  return Doc::OfArray("$in", ids.doc());
}

}  // namespace

void Operations::Renew(std::span<RenewOp* const> ops) {
  const Collection& collection = *ops.front()->collection;
  Array lock_ids;
  for (const RenewOp* op : ops) lock_ids.Add(op->lock_id);
  Doc filter;
  filter.Add("_id", IdsOf(ops));
  filter.Add(collection.fields().id, Doc::OfArray("$in", lock_ids.doc()));
  // A renewal never revives.
  filter.Add("$expr", LiveExpr(collection));
  Update update(collection);
  update.RestartLease(ops.front()->ttl);
  Doc statement;
  statement.Add("q", filter);
  update.AddTo(statement, "u");
  statement.Add("multi", true);
  Array statements;
  statements.Add(statement);
  Doc command;
  command.Add("update", std::string_view(collection.name())).AddArray("updates", statements.doc());
  Reply reply;
  Write(command, reply);
  const bool all = reply.Integer("n") == static_cast<std::int64_t>(ops.size());
  bool settled = false;
  for (RenewOp* op : ops) {
    settled = Settled(*op, reply);
    if (!settled && all) op->status = OpStatus::kDone;
  }
  if (!settled && !all) JudgeRenewals(ops);
}

/// Some did not match. What is live now was live at the update, and so renewed by it.
void Operations::JudgeRenewals(std::span<RenewOp* const> ops) {
  for (RenewOp* op : ops) {
    Reply reply;
    const std::optional<StoredLock> lock = Look(*op->collection, *op->key, reply);
    if (Settled(*op, reply)) continue;
    if (!lock) {
      op->status = OpStatus::kMissing;
    } else if (lock->state == StoredLock::State::kMalformed) {
      Malformed(*op);
    } else if (!op->lock_id.is_nil() && lock->lock_id == op->lock_id && lock->live()) {
      op->status = OpStatus::kDone;
    } else {
      op->status = OpStatus::kLost;
    }
  }
}

}  // namespace doclock::mongo
