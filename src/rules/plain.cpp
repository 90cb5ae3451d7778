#include "rules/plain.h"

namespace doclock::rules {
namespace {

Plain KindOf(const AcquireOp& op) noexcept {
  if (op.request.grant.queue_for.count() > 0) return Plain::kJoinQueue;
  if (op.request.grant.mode == LockMode::kShared) return Plain::kTakeShare;
  return op.request.grant.min_hold.count() > 0 ? Plain::kTakeAndClose : Plain::kTakeFree;
}

Plain KindOf(const RenewOp& op) noexcept {
  return op.request.mode == LockMode::kShared ? Plain::kRenewShare : Plain::kRenew;
}

Plain KindOf(const WriteOp& op) noexcept {
  if (op.request.write == WriteKind::kLeave) return Plain::kNone;
  if (op.request.mode == LockMode::kShared) return Plain::kEndShare;
  if (op.request.write == WriteKind::kErase || (op.request.merge && op.request.body))
    return Plain::kOtherWrite;
  if (op.request.write == WriteKind::kCheckpoint)
    return op.request.body ? Plain::kCheckpoint : Plain::kOtherWrite;
  if (op.request.next == nullptr)
    return op.request.body ? Plain::kWriteAndRelease : Plain::kRelease;
  return op.request.next->min_hold.count() > 0 ? Plain::kOtherWrite : Plain::kHandOver;
}

Plain KindOf(const SaveOp& op) noexcept {
  const bool any = op.request.save == SaveKind::kErase && op.request.expected == kAnyVersion;
  return any ? Plain::kEraseAny : Plain::kSave;
}

Plain KindOf(const ReadOp&) noexcept { return Plain::kNone; }

}  // namespace

Plain PlainOf(const StoreOp& op) noexcept {
  return Visit(op, [](const auto& one) { return KindOf(one); });
}

}  // namespace doclock::rules
