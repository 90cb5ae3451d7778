#include "mongo/operations.h"
#include "mongo/renewal_command.h"

namespace doclock::mongo {

using std::chrono::milliseconds;

void Operations::Renew(std::span<RenewOp* const> ops) {
  RenewAtOnce(ops, ops.size() == 1 ? left() : left() / 4);
}

void Operations::RenewAtOnce(std::span<RenewOp* const> ops, milliseconds limit) {
  const auto sent = std::chrono::steady_clock::now();
  Doc command = RenewalCommand(ops);
  Reply reply;
  Within(limit).Write(command, reply);
  if (reply.ran_out_of_time() && ops.size() > 1) return RenewAround(ops, sent);
  const Verdict& verdict = Single(reply);
  const bool all = reply.Integer("n") == static_cast<std::int64_t>(ops.size());
  for (RenewOp* op : ops) {
    if (!Settled(*op, verdict) && all) op->status = OpStatus::kDone;
  }
  if (verdict.answered() && !all) JudgeRenewals(ops, OpStatus::kDone);
}

/// Some did not match. Those that are live now have `live` as their outcome: after an update that
/// was answered they were live then too, and so renewed by it.
void Operations::JudgeRenewals(std::span<RenewOp* const> ops, OpStatus live) {
  const std::vector<StoreOp*> all(ops.begin(), ops.end());
  for (RenewOp* op : ops) op->status = OpStatus::kMissing;
  Reply reply;
  const bool complete = Look(
      all, Array(),
      [&](std::size_t place, Shown&& shown) {
        RenewOp& op = *ops[place];
        const StoredLock& lock = shown.lock;
        if (lock.state == StoredLock::State::kMalformed) {
          Malformed(op);
        } else if (!op.lock_id.is_nil() && lock.lock_id == op.lock_id && lock.live()) {
          op.status = live;
        } else {
          op.status = OpStatus::kLost;
        }
      },
      reply);
  for (RenewOp* op : ops) {
    const bool unknown =
        op->status == OpStatus::kInDoubt || (op->status == OpStatus::kMissing && !complete);
    if (unknown) op->Doubt("whether the lock was renewed is not known");
  }
}

}  // namespace doclock::mongo
