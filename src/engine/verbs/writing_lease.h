#pragma once

#include "doclock/detail/engine.h"

namespace doclock::detail {

/// Why the handle can do nothing; null if it can.
FailurePtr Unusable(const Lease& lease) noexcept;

/// A lease whose handle is in an operation. If nothing comes of that, it is held as before.
class WritingLease {
 public:
  /// Begins an operation. @throws std::logic_error in any other phase than kHeld
  static WritingLease BeginOrThrow(const LeasePtr& lease);
  /// Takes over an operation that was begun.
  explicit WritingLease(LeasePtr lease) noexcept : lease_(std::move(lease)) {}
  WritingLease(WritingLease&&) noexcept = default;
  WritingLease& operator=(WritingLease&&) = delete;
  ~WritingLease();

  [[nodiscard]] const LeasePtr& lease() const noexcept { return lease_; }
  /// The procedure has moved the lease on.
  void Done() noexcept { lease_ = nullptr; }
  /// Something was sent, and it will not be known what came of it: the handle is dead.
  void Doubt() noexcept;

 private:
  LeasePtr lease_;
};

}  // namespace doclock::detail
