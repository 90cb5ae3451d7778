#include <algorithm>
#include <unordered_map>

#include "mongo/lock_filters.h"
#include "mongo/operations.h"

namespace doclock::mongo {
namespace {

using std::chrono::milliseconds;

/// Into so many parts are renewals divided to find the one that is blocked: one part waits in vain
/// at each level, so few levels are better than few commands.
constexpr std::size_t kRenewalParts = 8;

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

Doc CommandFor(std::span<RenewOp* const> ops) {
  const Collection& collection = *ops.front()->collection;
  Doc filter;
  filter.Add("_id", IdsOf(ops)).Add(collection.fields().id, LockIdsOf(ops));
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

bool Holds(const RenewOp& op, const StoredLock& lock) {
  if (op.mode == LockMode::kShared) return lock.LiveShare(op.lock_id) != nullptr;
  const bool may_hold = !op.lock_id.is_nil() && op.lock_id != kSharedLockId;
  return may_hold && lock.lock_id == op.lock_id && lock.live();
}

}  // namespace

void Operations::Renew(std::span<RenewOp* const> ops) {
  RenewAtOnce(ops, ops.size() == 1 ? left() : left() / 4);
}

void Operations::RenewAtOnce(std::span<RenewOp* const> ops, milliseconds limit) {
  if (ops.front()->mode == LockMode::kShared) return RenewSharesAtOnce(ops, limit);
  Doc command = CommandFor(ops);
  Reply reply;
  Within(limit).Write(command, reply);
  if (reply.ran_out_of_time() && ops.size() > 1) return RenewInParts(ops);
  const Verdict& verdict = Single(reply);
  const bool all = reply.Integer("n") == static_cast<std::int64_t>(ops.size());
  for (RenewOp* op : ops) {
    if (!Settled(*op, verdict) && all) op->status = OpStatus::kDone;
  }
  if (verdict.answered() && !all) JudgeRenewals(ops);
}

/// A document that somebody's open transaction has changed stops the whole command. Renewing again
/// what was renewed already does no harm.
void Operations::RenewInParts(std::span<RenewOp* const> ops) {
  const milliseconds limit = std::max(left() / 12, milliseconds(5));
  const std::size_t size = (ops.size() + kRenewalParts - 1) / kRenewalParts;
  for (std::size_t i = 0; i < ops.size(); i += size) {
    const auto part = ops.subspan(i, std::min(size, ops.size() - i));
    if (left().count() > 0) {
      RenewAtOnce(part, limit);
    } else {
      for (RenewOp* op : part) op->Doubt("the renewal found no time");
    }
  }
}

/// Some did not match. What is live now was live at the update, and so renewed by it.
void Operations::JudgeRenewals(std::span<RenewOp* const> ops) {
  std::unordered_multimap<Key, RenewOp*> by_document;
  std::vector<StoreOp*> documents;
  for (RenewOp* op : ops) {
    if (!by_document.contains(*op->key)) documents.push_back(op);
    by_document.emplace(*op->key, op);
    op->status = OpStatus::kMissing;
  }
  Reply reply;
  const bool complete = Look(
      documents, Array(),
      [&](std::size_t place, Shown&& shown) {
        const auto [first, last] = by_document.equal_range(*documents[place]->key);
        for (auto item = first; item != last; ++item) {
          RenewOp& op = *item->second;
          if (shown.lock.state == StoredLock::State::kMalformed) {
            Malformed(op);
          } else {
            op.status = Holds(op, shown.lock) ? OpStatus::kDone : OpStatus::kLost;
          }
        }
      },
      reply);
  if (complete) return;
  for (RenewOp* op : ops) {
    if (op->status == OpStatus::kMissing) op->Doubt("whether the lock was renewed is not known");
  }
}

}  // namespace doclock::mongo
