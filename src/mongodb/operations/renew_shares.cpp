#include <algorithm>
#include <deque>
#include <unordered_map>

#include "mongodb/layouts/layout.h"
#include "mongodb/operations/operations.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/share_filters.h"
#include "mongodb/protocol/write_command.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// The number of parts into which renewals are divided to find the blocked one: one part waits in
/// vain at each level, so few levels are better than few commands.
constexpr std::size_t kShareParts = 8;

/// The renewals of one statement: the shares of one document, or one lease of another library's.
using Sharers = std::vector<RenewOp*>;

std::vector<Sharers> ByStatement(std::span<RenewOp* const> ops) {
  std::unordered_map<Key, std::size_t> places;
  std::vector<Sharers> groups;
  if (LayoutOf(*ops.front()->collection) != nullptr) {
    for (RenewOp* op : ops) groups.push_back({op});
    return groups;
  }
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
  if (const Layout* const layout = LayoutOf(collection)) return layout->Renewal(one);
  Array ids;
  for (const RenewOp* op : sharers) ids.Add(op->request.lock_id);
  Doc filter;
  filter.Add("_id", Equals(*one.key)).Add(collection.fields().id, Equals(kSharedLockId));
  AddSound(filter, collection);
  // A renewal never revives.
  filter.Add("$expr", AreLiveExpr(collection, ids));
  Array stages;
  AddShareRenewal(stages, collection, ids, one.request.ttl);
  return PipelineStatement(filter, stages);
}

}  // namespace

/// False: a document blocks the command, which has others too.
bool Operations::RenewEachAtOnce(std::span<RenewOp* const> ops, milliseconds limit) {
  const std::vector<Sharers> groups = ByStatement(ops);
  Array statements;
  for (const Sharers& sharers : groups) statements.Add(StatementFor(sharers));
  Doc command = CommandOf(Verb::kUpdate, *ops.front()->collection, statements, false);
  Reply reply;
  Within(limit).Write(command, reply);
  if (reply.ran_out_of_time() && groups.size() > 1) return false;
  std::vector<RenewOp*> open;
  std::int64_t documents = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (reply.Of(i).answered()) ++documents;
    for (RenewOp* op : groups[i]) {
      if (!Settled(*op, reply.Of(i))) open.push_back(op);
    }
  }
  if (reply.Integer("n") == documents) {
    for (RenewOp* op : open) op->status = OpStatus::kDone;
  }
  return true;
}

/// All large parts come before the small ones that are left of the blocked ones, so that these cost
/// the others no time.
void Operations::RenewInParts(std::span<RenewOp* const> ops, const RenewalSender& send) const {
  std::deque<std::span<RenewOp* const>> parts;
  const auto divide = [&](std::span<RenewOp* const> part) {
    const std::size_t size = (part.size() + kShareParts - 1) / kShareParts;
    for (std::size_t i = 0; i < part.size(); i += size) {
      parts.push_back(part.subspan(i, std::min(size, part.size() - i)));
    }
  };
  for (divide(ops); !parts.empty(); parts.pop_front()) {
    const auto part = parts.front();
    if (left().count() == 0) {
      for (RenewOp* op : part) op->Doubt("the renewal found no time");
    } else if (!send(part, std::max(left() / 16, milliseconds(5)))) {
      divide(part);
    }
  }
}

}  // namespace doclock::mongodb
