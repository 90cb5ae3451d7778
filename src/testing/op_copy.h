#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "doclock/store.h"

namespace doclock::testing {

/// A copy of an operation's request with everything that it points at. It can be executed while the
/// original gets another result, or after the original is gone.
class OpCopy {
 public:
  explicit OpCopy(const StoreOp& op);
  OpCopy(const OpCopy&) = delete;
  OpCopy& operator=(const OpCopy&) = delete;

  [[nodiscard]] StoreOp& op() noexcept { return *op_; }

 private:
  // Makes the copy; its base has no virtual destructor.
  template <class Op>
  Op& Make(const StoreOp& original);
  void CopyRequest(const AcquireOp& original);
  void CopyRequest(const RenewOp& original);
  void CopyRequest(const WriteOp& original);
  void CopyRequest(const SaveOp& original);
  void CopyRequest(const ReadOp& original);

  Key key_;
  std::optional<GrantRequest> next_;
  std::shared_ptr<void> owned_;
  StoreOp* op_ = nullptr;
};

}  // namespace doclock::testing
