#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <vector>

#include "mongodb/client/clocks.h"
#include "mongodb/layouts/layout.h"
#include "mongodb/operations/operations.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/write_command.h"
#include "rules/rules.h"

// Renewals of exclusive locks, and what a look tells of all renewals.

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// How long a command may take before the next one continues after the document at which it stands.
/// A thousand renewals take 25 ms, or half a second on a busy machine.
constexpr milliseconds kShortest{5};
constexpr milliseconds kLongest{1000};
/// Time beyond the deadline, to find out the outcomes.
constexpr milliseconds kForTheJudge{250};

Doc IdsOf(std::span<RenewOp* const> ops) {
  Array ids;
  for (const RenewOp* op : ops) ids.Add(*op->key);
  return Doc::Of("$in", ids);
}

Doc LockIdsOf(std::span<RenewOp* const> ops) {
  Array ids;
  for (const RenewOp* op : ops) {
    if (op->request.lock_id != kSharedLockId) ids.Add(op->request.lock_id);
  }
  return Doc::Of("$in", ids);
}

/// A filter for the documents of these renewals, all of one collection, if they hold the locks.
Doc RenewalFilter(std::span<RenewOp* const> ops) {
  Doc filter;
  filter.Add("_id", IdsOf(ops)).Add(ops.front()->collection->fields().id, LockIdsOf(ops));
  return filter;
}

/// There is a sound lock, whose lease is not over. Shares are not looked at.
void AddLive(Doc& filter, const Collection& collection) {
  Doc sound = Doc::Of(collection.fields().id, LockIdThere());
  AddSound(sound, collection, {LockPart::kFields, LockPart::kLease, LockPart::kClosed});
  filter.Add("$and", Array().Add(sound)).Add("$expr", LiveExpr(collection));
}

/// The update that renews all of them, which have one ttl.
Doc RenewalCommand(std::span<RenewOp* const> ops) {
  const Collection& collection = *ops.front()->collection;
  Doc filter = RenewalFilter(ops);
  AddLive(filter, collection);  // a renewal never revives
  Doc lease;
  lease.Add(collection.fields().ttl, RenewedTtlExpr(collection, ops.front()->request.ttl));
  lease.Add(collection.fields().time, "$$NOW");
  Doc statement = PipelineStatement(filter, Array().Add(SetStage(lease)));
  statement.Add("multi", true);
  return CommandOf(Verb::kUpdate, collection, Array().Add(statement), true);
}

Doc IdAndPlace(std::span<RenewOp* const> ops, std::int64_t first) {
  Array ids;
  for (const RenewOp* op : ops) ids.Add(*op->key);
  Doc projection = Doc::Of("_id", 1);
  projection.Add("place", PlaceAmong(ids, first));
  return projection;
}

/// The renewals of the documents that a find has shown, in its order.
std::vector<RenewOp*> AskersOf(std::span<RenewOp* const> ops, std::int64_t first,
                               const Reply& reply) {
  std::vector<RenewOp*> found;
  reply.ForEachInBatch([&](const bson_t& row) {
    const auto place = PlaceIn(row, first, ops.size());
    if (place && *place >= 0) found.push_back(ops[static_cast<std::size_t>(*place)]);
    return true;
  });
  return found;
}

void DoubtPending(std::span<RenewOp* const> ops) {
  for (RenewOp* op : ops) {
    if (op->status == OpStatus::kPending) op->Doubt("whether the lock was renewed is not known");
  }
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
  if (is_theirs || ops.front()->request.mode == LockMode::kShared) {
    const RenewalSender send = std::bind_front(&Operations::RenewEachAtOnce, this);
    if (!send(ops, limit)) RenewInParts(ops, send);
    return;
  }
  Doc command = RenewalCommand(ops);
  Reply reply;
  Within(limit).Write(command, reply);
  if (reply.ran_out_of_time() && ops.size() > 1) return RenewAround(ops);
  const CommandResult& result = Single(reply);
  const bool all = reply.Integer("n") == static_cast<std::int64_t>(ops.size());
  for (RenewOp* op : ops) {
    if (!Settled(*op, result) && all) op->status = OpStatus::kDone;
  }
}

/// Settles those that are not live any more. Leaves the live ones pending: that they are live does
/// not prove that they were renewed. A primary that does not know yet that it was replaced answers
/// an update that matches nothing as if a majority had acknowledged it.
void Operations::JudgeRenewals(std::span<RenewOp* const> ops) {
  const Layout* const layout = LayoutOf(*ops.front()->collection);
  std::unordered_multimap<Key, RenewOp*> by_document;
  std::vector<const Key*> documents;
  for (RenewOp* op : ops) {
    if (!by_document.contains(*op->key)) documents.push_back(op->key);
    by_document.emplace(*op->key, op);
  }
  Reply reply;
  const bool complete = Look(
      *ops.front()->collection, documents, {},
      [&](std::size_t place, Shown&& shown) {
        const auto [first, last] = by_document.equal_range(*documents[place]);
        for (auto item = first; item != last; ++item) {
          RenewOp& op = *item->second;
          if (shown.lock.malformed()) {
            Malformed(op, shown.lock);
          } else if (!rules::MayRenew(op, shown.lock, kLookedAt) ||
                     (layout != nullptr && !layout->MayRenew(shown.lock))) {
            op.status = OpStatus::kLost;
          }
        }
        by_document.erase(*documents[place]);
      },
      reply);
  if (!complete) return DoubtPending(ops);
  for (const auto& [key, op] : by_document) op->status = OpStatus::kMissing;
}

/// A document that a foreign open transaction has changed stops the whole command. The server works
/// in the order of _id, so the first document that was not renewed is the one that blocks: it is
/// left out, and the next command continues after it.
void Operations::RenewAround(std::span<RenewOp* const> ops) {
  const std::optional<std::int64_t> since = ServerTime();
  if (!since) return DoubtPending(ops);
  std::vector<RenewOp*> behind(ops.begin(), ops.end());
  while (left().count() > 0) {
    Doc command = RenewalCommand(behind);
    Reply reply;
    // Of what is left, so that some twenty blocked documents leave time for those behind them.
    Within(std::clamp(left() / 12, kShortest, kLongest)).Write(command, reply);
    if (!reply.ran_out_of_time()) break;
    const std::vector<RenewOp*> late = Select(behind, Renewed::kNo, *since);
    if (late.size() <= 1) break;
    behind.assign(late.begin() + 1, late.end());
  }
  JudgeSince(ops, *since);
}

/// The server's clock, cut off to milliseconds; nothing if the server does not tell it.
std::optional<std::int64_t> Operations::ServerTime() {
  Doc command = Doc::Of("hello", 1);
  Reply reply;
  Read(command, reply);
  const auto time = reply.answered() ? LocalTime(reply) : std::nullopt;
  return time ? std::optional<std::int64_t>(time->count()) : std::nullopt;
}

/// The renewals whose lease began anew since that server time, or the live ones among the others,
/// in the order of _id. Nothing if that is unknown. Reports a renewal only once a majority has it:
/// the commands that gave up did not wait for that.
std::vector<RenewOp*> Operations::Select(std::span<RenewOp* const> ops, Renewed renewed,
                                         std::int64_t since) {
  const Collection& collection = *ops.front()->collection;
  const bool yes = renewed == Renewed::kYes;
  Doc time;
  bson_append_date_time(time.get(), yes ? "$gte" : "$lt", -1, since);
  Doc filter = RenewalFilter(ops);
  filter.Add(collection.fields().time, time);
  if (yes) {
    // A save by the holder begins the lease anew too, for a time of its own.
    filter.Add(collection.fields().ttl,
               Doc::Of("$gte", std::int64_t{ops.front()->request.ttl.count()}));
  } else {
    AddLive(filter, collection);
  }
  const std::int64_t first = FirstPlace();
  Doc command;
  command.Add("find", std::string_view(collection.name())).Add("filter", filter);
  command.Add("projection", IdAndPlace(ops, first)).Add("sort", Doc::Of("_id", 1));
  command.Add("batchSize", static_cast<std::int64_t>(ops.size())).Add("singleBatch", true);
  const char* const level = yes && server_.is_replica_set() ? "majority" : "local";
  command.Add("readConcern", Doc::Of("level", level));
  Reply reply;
  Read(command, reply);
  return reply.answered() ? AskersOf(ops, first, reply) : std::vector<RenewOp*>();
}

/// Settles renewals of commands that gave up: those that a majority shows are done, those that are
/// live besides are in doubt.
void Operations::JudgeSince(std::span<RenewOp* const> ops, std::int64_t since) {
  Operations judge(server_, pool_, deadline_ + kForTheJudge);
  for (RenewOp* op : judge.Select(ops, Renewed::kYes, since)) op->status = OpStatus::kDone;
  std::vector<RenewOp*> others;
  std::copy_if(ops.begin(), ops.end(), std::back_inserter(others),
               [](const RenewOp* op) { return op->status != OpStatus::kDone; });
  if (!others.empty()) judge.JudgeRenewals(others);
  DoubtPending(others);
}

}  // namespace doclock::mongodb
