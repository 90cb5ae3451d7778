#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "mongodb/layouts/layout.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/lock_filters.h"
#include "mongodb/statements/statements.h"
#include "mongodb/unit/operations.h"
#include "rules/rules.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// The update that renews all of them, which have one ttl.
Doc RenewalCommand(std::span<RenewOp* const> ops) {
  const Collection& collection = *ops.front()->collection;
  Array keys, ids;
  for (const RenewOp* op : ops) {
    keys.Add(*op->key);
    if (op->request.lock_id != kSharedLockId) ids.Add(op->request.lock_id);
  }
  // A sound lock, whose lease is not over: a renewal never revives. Shares are not looked at.
  Doc sound = Doc::Of(collection.fields().id, LockIdThere());
  AddSound(sound, collection, {LockPart::kFields, LockPart::kLease, LockPart::kClosed});
  Doc filter = Doc::Of("_id", Doc::Of("$in", keys));
  filter.Add(collection.fields().id, Doc::Of("$in", ids));
  filter.Add("$and", Array().Add(sound)).Add("$expr", LiveExpr(collection));
  Doc lease;
  lease.Add(collection.fields().ttl, RenewedTtlExpr(collection, ops.front()->request.ttl));
  lease.Add(collection.fields().time, "$$NOW");
  Doc statement = PipelineStatement(filter, Array().Add(SetStage(lease)));
  statement.Add("multi", true);
  return CommandOf(Verb::kUpdate, collection, Array().Add(statement), true);
}

void DoubtPending(std::span<RenewOp* const> ops) {
  for (RenewOp* op : ops) {
    if (op->status == OpStatus::kPending) op->Doubt("whether the lock was renewed is not known");
  }
}

/// The number of parts into which renewals are divided to find the blocked one: one part waits in
/// vain at each level, so few levels are better than few commands.
constexpr std::size_t kRenewalParts = 8;
/// A majority takes some time, also for a part that nothing blocks.
constexpr milliseconds kLeastForPart{50};

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

void Operations::Renew(std::span<RenewOp* const> ops) {
  std::vector<RenewOp*> open(ops.begin(), ops.end());
  const auto all_settled = [&] {
    std::erase_if(open, [](const RenewOp* op) { return op->status != OpStatus::kPending; });
    return open.empty();
  };
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    // The rest of the time is for going around blocked documents.
    RenewAtOnce(open, open.size() == 1 ? left() : left() / 3);
    if (all_settled()) return;
    JudgeRenewals(open);
    if (all_settled()) return;
  }
  // A layout's statement may renew less than its change does: a unit tells.
  if (LayoutOf(*open.front()->collection) == nullptr) DoubtPending(open);
}

void Operations::RenewAtOnce(std::span<RenewOp* const> ops, milliseconds limit) {
  const bool is_theirs = LayoutOf(*ops.front()->collection) != nullptr;
  const bool by_statement = is_theirs || ops.front()->request.mode == LockMode::kShared;
  const RenewalSender send =
      std::bind_front(by_statement ? &Operations::RenewByStatement : &Operations::RenewByOne, this);
  if (!send(ops, limit)) RenewInParts(ops, send);
}

bool Operations::RenewByOne(std::span<RenewOp* const> ops, milliseconds limit) {
  Doc command = RenewalCommand(ops);
  Reply reply;
  Within(limit).Write(command, reply);
  if (reply.ran_out_of_time() && ops.size() > 1) return false;
  const CommandResult& result = Single(reply);
  const bool all = reply.Integer("n") == static_cast<std::int64_t>(ops.size());
  for (RenewOp* op : ops) {
    if (!Settled(*op, result) && all) op->status = OpStatus::kDone;
  }
  return true;
}

/// Returns true; false if a document blocks the command, which has others too.
bool Operations::RenewByStatement(std::span<RenewOp* const> ops, milliseconds limit) {
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
    const std::size_t size = (part.size() + kRenewalParts - 1) / kRenewalParts;
    for (std::size_t i = 0; i < part.size(); i += size) {
      parts.push_back(part.subspan(i, std::min(size, part.size() - i)));
    }
  };
  for (divide(ops); !parts.empty(); parts.pop_front()) {
    const auto part = parts.front();
    if (left().count() == 0) {
      for (RenewOp* op : part) op->Doubt("the renewal found no time");
    } else if (!send(part, std::min(left(), std::max(left() / 16, kLeastForPart)))) {
      divide(part);
    }
  }
}

/// Settles those that are not live any more. Leaves the live ones pending: that they are live does
/// not prove that they were renewed. A primary that does not know yet that it was replaced answers
/// an update that matches nothing as if a majority had acknowledged it.
void Operations::JudgeRenewals(std::span<RenewOp* const> ops) {
  const Layout* const layout = LayoutOf(*ops.front()->collection);
  std::unordered_map<Key, std::vector<RenewOp*>> by_document;
  std::vector<const Key*> documents;
  for (RenewOp* op : ops) {
    const auto [item, fresh] =
        by_document.try_emplace(layout == nullptr ? *op->key : KeyIn(*layout, *op->key));
    if (fresh) documents.push_back(&item->first);
    item->second.push_back(op);
  }
  Reply reply;
  const bool complete = Look(
      *ops.front()->collection, documents, {},
      [&](std::size_t place, Shown&& shown) {
        std::vector<RenewOp*>& some = by_document.at(*documents[place]);
        for (RenewOp* op : some) {
          if (shown.lock.malformed()) {
            Malformed(*op, shown.lock);
          } else if (!rules::MayRenew(*op, shown.lock, kLookedAt) ||
                     (layout != nullptr && !layout->MayRenew(shown.lock))) {
            op->status = OpStatus::kLost;
          }
        }
        some.clear();
      },
      reply);
  if (!complete) return DoubtPending(ops);
  for (const auto& [key, missing] : by_document) {
    for (RenewOp* op : missing) op->status = OpStatus::kMissing;
  }
}

}  // namespace doclock::mongodb
