#include "rules/plain.h"

namespace doclock::rules {
namespace {

Plain KindOf(const AcquireOp& op) noexcept {
  if (op.grant.queue_for.count() > 0) return Plain::kJoinQueue;
  if (op.grant.mode == LockMode::kShared) return Plain::kTakeShare;
  return op.grant.min_hold.count() > 0 ? Plain::kTakeAndClose : Plain::kTakeFree;
}

Plain KindOf(const RenewOp& op) noexcept {
  return op.mode == LockMode::kShared ? Plain::kRenewShare : Plain::kRenew;
}

Plain KindOf(const WriteOp& op) noexcept {
  if (op.write == WriteKind::kLeave) return Plain::kNone;
  if (op.mode == LockMode::kShared) return Plain::kEndShare;
  if (op.write == WriteKind::kErase || (op.merge && op.body)) return Plain::kOtherWrite;
  if (op.write == WriteKind::kCheckpoint) return op.body ? Plain::kCheckpoint : Plain::kOtherWrite;
  if (op.next == nullptr) return op.body ? Plain::kWriteAndRelease : Plain::kRelease;
  return op.next->min_hold.count() > 0 ? Plain::kOtherWrite : Plain::kHandOver;
}

Plain KindOf(const SaveOp& op) noexcept {
  const bool any = op.save == SaveKind::kErase && op.expected == kAnyVersion;
  return any ? Plain::kEraseAny : Plain::kSave;
}

Plain KindOf(const ReadOp&) noexcept { return Plain::kNone; }

}  // namespace

Plain PlainOf(const StoreOp& op) noexcept {
  return Visit(op, [](const auto& one) { return KindOf(one); });
}

}  // namespace doclock::rules
