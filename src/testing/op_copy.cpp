#include "testing/op_copy.h"

namespace doclock::testing {

template <class Op>
Op& OpCopy::Make(const StoreOp& original) {
  auto copy = std::make_shared<Op>(*original.collection, key_);
  Op& made = *copy;
  made.is_retry = original.is_retry;
  made.queue_likely = original.queue_likely;
  made.if_kept = original.if_kept;
  op_ = &made;
  owned_ = std::move(copy);
  return made;
}

OpCopy::OpCopy(const StoreOp& op) : key_(*op.key) {
  Visit(op, [this](const auto& one) { CopyRequest(one); });
}

void OpCopy::CopyRequest(const AcquireOp& original) {
  auto& copy = Make<AcquireOp>(original);
  copy.grant = original.grant;
  copy.insert = original.insert;
  copy.seems_granted = original.seems_granted;
}

void OpCopy::CopyRequest(const RenewOp& original) {
  auto& copy = Make<RenewOp>(original);
  copy.lock_id = original.lock_id;
  copy.ttl = original.ttl;
  copy.detached = original.detached;
  copy.keep_process = original.keep_process;
  copy.mode = original.mode;
}

void OpCopy::CopyRequest(const WriteOp& original) {
  auto& copy = Make<WriteOp>(original);
  copy.write = original.write;
  copy.lock_id = original.lock_id;
  copy.expected = original.expected;
  copy.born = original.born;
  copy.body = original.body;
  copy.base = original.base;
  copy.merge = original.merge;
  copy.ttl = original.ttl;
  copy.fence = original.fence;
  copy.renewed = original.renewed;
  copy.release_id = original.release_id;
  copy.mode = original.mode;
  if (original.next == nullptr) return;
  next_ = *original.next;
  copy.next = &*next_;
}

void OpCopy::CopyRequest(const ReadOp& original) { Make<ReadOp>(original); }

void OpCopy::CopyRequest(const SaveOp& original) {
  auto& copy = Make<SaveOp>(original);
  copy.save = original.save;
  copy.expected = original.expected;
  copy.born = original.born;
  copy.write_id = original.write_id;
  copy.body = original.body;
  copy.base = original.base;
}

}  // namespace doclock::testing
