#include "mongodb/layouts/judge_retry.h"

#include "locking/execute.h"
#include "mongodb/layouts/body_change.h"

namespace doclock::mongodb {

void JudgeRetry(locking::Database& database, StoreOp& op, locking::Deadline deadline) {
  const bool is_gone = op.status == OpStatus::kLost || op.status == OpStatus::kMissing;
  if (op.kind != OpKind::kWrite || !op.is_retry || !is_gone) return;
  const auto& write = static_cast<const WriteOp&>(op);
  if (!write.request.body) return;
  ReadOp look(*op.collection, {*op.key, op.hash});
  StoreOp* const one[] = {&look};
  locking::Execute(database, one, deadline);
  const bool is_stored = look.status == OpStatus::kDone &&
                         IsStored(write.request.body.json(), look.result.body.json());
  const bool is_next =
      write.request.next == nullptr || look.result.lock_id == write.request.next->lock_id;
  if (write.request.write == WriteKind::kRelease && is_stored && is_next) return;
  op.Doubt("the lock is gone, and whether the body was stored before is not known");
}

}  // namespace doclock::mongodb
