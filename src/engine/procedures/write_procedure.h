#pragma once

#include "engine/engine.h"
#include "engine/procedures/held_write.h"
#include "engine/procedures/procedure.h"

namespace doclock::detail {

/// One write under a lease, with doubt settled (see TraceOf). An unproved write stays in doubt. A
/// share is proved to be released if it is missing although its lease is not over.
///
/// Moves the lease to its next phase. The caller has moved it to kWriting, and moves it on if it
/// drops the procedure before its end.
class WriteProcedure : public Procedure {
 public:
  explicit WriteProcedure(HeldWrite& write);

  Step Next() override;
  void Interrupt() noexcept override { Unknown(); }

  /// Null: written.
  FailurePtr TakeFailure() { return std::move(failure_); }

 private:
  enum class State : std::uint8_t { kStart, kWrite, kLook, kFinished };

  Step Send(std::chrono::nanoseconds pause);
  Step AfterWrite();
  Step AfterUnmarkedWrite();
  Step Look();
  Step AfterLook();
  /// The write happened.
  Step Written(std::int64_t version, bool with_next) noexcept;
  Step Refused(FailurePtr failure) noexcept;
  Step Lost() noexcept;
  Step Unknown() noexcept;
  /// Does its release leave no mark, so that a look does not tell whether it was done?
  [[nodiscard]] bool IsUnmarked() const noexcept {
    return lease_->mode == LockMode::kShared ||
           (lease_->collection->turns() != nullptr && write_.next == nullptr);
  }
  [[nodiscard]] bool OutOfTime(std::chrono::nanoseconds pause) const;

  HeldWrite& held_;
  WriteOp& write_;
  const LeasePtr lease_;
  Engine& engine_;
  ReadOp read_;
  TimePoint give_up_;
  Backoff backoff_;
  bool doubted_ = false;
  State state_ = State::kStart;
  FailurePtr failure_;
};

}  // namespace doclock::detail
