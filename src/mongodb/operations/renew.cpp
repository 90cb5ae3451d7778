#include <unordered_map>

#include "mongodb/operations/operations.h"
#include "mongodb/protocol/renewal_command.h"
#include "rules/holder.h"

namespace doclock::mongodb {

using std::chrono::milliseconds;

void Operations::Renew(std::span<RenewOp* const> ops) {
  // The other half of the time is for going around a blocked document.
  RenewAtOnce(ops, ops.size() == 1 ? left() : left() / 2);
}

void Operations::RenewAtOnce(std::span<RenewOp* const> ops, milliseconds limit) {
  if (ops.front()->mode == LockMode::kShared) return RenewSharesAtOnce(ops, limit);
  Doc command = RenewalCommand(ops);
  Reply reply;
  Within(limit).Write(command, reply);
  if (reply.ran_out_of_time() && ops.size() > 1) return RenewAround(ops);
  const CommandResult& result = Single(reply);
  const bool all = reply.Integer("n") == static_cast<std::int64_t>(ops.size());
  for (RenewOp* op : ops) {
    if (!Settled(*op, result) && all) op->status = OpStatus::kDone;
  }
  if (result.answered() && !all) JudgeRenewals(ops, OpStatus::kDone);
}

/// Some did not match. Gives those that are live now the outcome `live`: after an update that was
/// answered they were live then too, and so were renewed by it.
void Operations::JudgeRenewals(std::span<RenewOp* const> ops, OpStatus live) {
  std::unordered_multimap<Key, RenewOp*> by_document;
  std::vector<const Key*> documents;
  for (RenewOp* op : ops) {
    if (!by_document.contains(*op->key)) documents.push_back(op->key);
    by_document.emplace(*op->key, op);
    op->status = OpStatus::kPending;
  }
  Reply reply;
  const bool complete = Look(
      *ops.front()->collection, documents, {.sees = Sees::kLatest},
      [&](std::size_t place, Shown&& shown) {
        const auto [first, last] = by_document.equal_range(*documents[place]);
        for (auto item = first; item != last; ++item) {
          RenewOp& op = *item->second;
          if (shown.lock.malformed()) {
            Malformed(op, shown.lock);
          } else {
            op.status = rules::MayRenew(op, shown.lock, kLookedAt) ? live : OpStatus::kLost;
          }
        }
      },
      reply);
  for (RenewOp* op : ops) {
    const bool unseen = op->status == OpStatus::kPending;
    if (unseen && complete) {
      op->status = OpStatus::kMissing;
    } else if (unseen || op->status == OpStatus::kInDoubt) {
      op->Doubt("whether the lock was renewed is not known");
    }
  }
}

}  // namespace doclock::mongodb
