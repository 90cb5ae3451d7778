#include <algorithm>
#include <unordered_map>

#include "mongodb/operations/operations.h"
#include "mongodb/protocol/share_filters.h"
#include "mongodb/protocol/write_command.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// The number of parts into which renewals are divided to find the blocked one: one part waits in
/// vain at each level, so few levels are better than few commands.
constexpr std::size_t kShareParts = 8;

/// The shares of one document, which one statement renews.
using Sharers = std::vector<RenewOp*>;

std::vector<Sharers> ByDocument(std::span<RenewOp* const> ops) {
  std::unordered_map<Key, std::size_t> places;
  std::vector<Sharers> groups;
  for (RenewOp* op : ops) {
    const auto [place, fresh] = places.emplace(*op->key, groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(op);
  }
  return groups;
}

Doc StatementFor(const Sharers& sharers) {
  const RenewOp& one = *sharers.front();
  const Collection& collection = *one.collection;
  Array ids;
  for (const RenewOp* op : sharers) ids.Add(op->lock_id);
  Doc filter;
  filter.Add("_id", Equals(*one.key)).Add(collection.fields().id, Equals(kSharedLockId));
  // A renewal never revives.
  filter.Add("$expr", AreLiveExpr(collection, ids));
  Array stages;
  AddShareRenewal(stages, collection, ids, one.ttl);
  return PipelineStatement(filter, stages);
}

}  // namespace

void Operations::RenewSharesAtOnce(std::span<RenewOp* const> ops, milliseconds limit) {
  const std::vector<Sharers> groups = ByDocument(ops);
  Array statements;
  for (const Sharers& sharers : groups) statements.Add(StatementFor(sharers));
  Doc command = CommandOf(Verb::kUpdate, *ops.front()->collection, statements, false);
  Reply reply;
  Within(limit).Write(command, reply);
  if (reply.ran_out_of_time() && groups.size() > 1) return RenewSharesInParts(ops);
  std::vector<RenewOp*> open;
  std::int64_t documents = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (reply.Of(i).answered()) ++documents;
    for (RenewOp* op : groups[i]) {
      if (!Settled(*op, reply.Of(i))) open.push_back(op);
    }
  }
  if (reply.Integer("n") != documents) return;
  for (RenewOp* op : open) op->status = OpStatus::kDone;
}

/// A document that a foreign open transaction has changed stops the whole command. It does no harm
/// to renew again what was renewed already.
void Operations::RenewSharesInParts(std::span<RenewOp* const> ops) {
  const std::size_t size = (ops.size() + kShareParts - 1) / kShareParts;
  for (std::size_t i = 0; i < ops.size(); i += size) {
    const auto part = ops.subspan(i, std::min(size, ops.size() - i));
    if (left().count() > 0) {
      // Of what is left, so that some twenty blocked documents leave time for the others.
      RenewSharesAtOnce(part, std::max(left() / 16, milliseconds(5)));
    } else {
      for (RenewOp* op : part) op->Doubt("the renewal found no time");
    }
  }
}

}  // namespace doclock::mongodb
