#include "testing/op_copy.h"

#include <memory>
#include <type_traits>
#include <utility>

namespace doclock::testing {

OpCopy::OpCopy(const StoreOp& op) : key_(*op.key) {
  Visit(op, [this](const auto& original) {
    using Op = std::remove_cvref_t<decltype(original)>;
    auto copy = std::make_shared<Op>(*original.collection, key_);
    copy->is_retry = original.is_retry;
    copy->queue_likely = original.queue_likely;
    copy->if_kept = original.if_kept;
    if constexpr (requires { copy->request; }) copy->request = original.request;
    if constexpr (std::is_same_v<Op, WriteOp>) PointToOwn(copy->request.next);
    op_ = copy.get();
    owned_ = std::move(copy);  // StoreOp has no virtual destructor
  });
}

void OpCopy::PointToOwn(const GrantRequest*& next) {
  if (next == nullptr) return;
  next_ = *next;
  next = &*next_;
}

}  // namespace doclock::testing
