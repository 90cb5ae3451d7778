#include "mongodb/protocol/renewal_command.h"

#include "mongodb/protocol/lock_filters.h"

namespace doclock::mongodb {
namespace {

Doc IdsOf(std::span<RenewOp* const> ops) {
  Array ids;
  for (const RenewOp* op : ops) ids.Add(*op->key);
  return Doc::OfArray("$in", ids.doc());
}

Doc LockIdsOf(std::span<RenewOp* const> ops) {
  Array ids;
  for (const RenewOp* op : ops) {
    if (op->lock_id != kSharedLockId) ids.Add(op->lock_id);
  }
  return Doc::OfArray("$in", ids.doc());
}

}  // namespace

Doc RenewalFilter(std::span<RenewOp* const> ops) {
  Doc filter;
  filter.Add("_id", IdsOf(ops)).Add(ops.front()->collection->fields().id, LockIdsOf(ops));
  return filter;
}

Doc RenewalCommand(std::span<RenewOp* const> ops) {
  const Collection& collection = *ops.front()->collection;
  Doc filter = RenewalFilter(ops);
  // A renewal never revives.
  filter.Add("$expr", LiveExpr(collection));
  Doc lease;
  lease.Add(collection.fields().ttl, RenewedTtlExpr(collection, ops.front()->ttl));
  lease.Add(collection.fields().time, "$$NOW");
  Doc statement;
  statement.Add("q", filter).AddArray("u", Array().Add(Doc::Of("$set", lease)).doc());
  statement.Add("multi", true);
  Doc command;
  command.Add("update", std::string_view(collection.name()));
  command.AddArray("updates", Array().Add(statement).doc());
  return command;
}

}  // namespace doclock::mongodb
