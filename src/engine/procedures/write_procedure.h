#pragma once

#include "engine/engine.h"
#include "engine/procedures/procedure.h"

namespace doclock::detail {

/// One write under a lease (checkpoint, release, erase), with doubt settled. A checkpoint is proved
/// by its version under its own lock; a release by its mark (lockReleased) or the next holder's id;
/// an erase by the document's absence. A higher version alone proves nothing: the lock may have
/// been broken. An unproved write stays in doubt. A share is proved to be released if it is missing
/// although its lease is not over.
///
/// Moves the lease to its next phase. The caller has moved it to kWriting, and moves it on if it
/// drops the procedure before its end.
class WriteProcedure : public Procedure {
 public:
  WriteProcedure(LeasePtr lease, WriteKind kind, Body body);

  /// With a release: the grant to hand the lock to. Null: no hand-over.
  void HandOver(const GrantRequest& next);

  Step Next() override;
  void Interrupt() noexcept override { Unknown(); }

  /// Null: written.
  FailurePtr TakeFailure() { return std::move(failure_); }
  /// The next holder's grant is a fact.
  [[nodiscard]] bool handed_over() const noexcept { return handed_over_; }
  [[nodiscard]] const GrantRequest& next() const noexcept { return next_; }
  [[nodiscard]] std::int64_t version() const noexcept { return version_; }
  [[nodiscard]] const Body& body() const noexcept { return written_; }
  [[nodiscard]] TimePoint sent() const noexcept { return sent_; }

 private:
  enum class State : std::uint8_t { kStart, kWrite, kLook, kFinished };

  Step Send(std::chrono::nanoseconds pause);
  Step AfterWrite();
  Step AfterShareWrite();
  Step Look();
  Step AfterLook();
  /// The write happened.
  Step Written(std::int64_t version, bool with_next) noexcept;
  Step Refused(FailurePtr failure) noexcept;
  Step Lost() noexcept;
  Step Unknown() noexcept;
  [[nodiscard]] bool IsShare() const noexcept { return lease_->mode == LockMode::kShared; }
  [[nodiscard]] bool OutOfTime(std::chrono::nanoseconds pause) const;
  [[nodiscard]] std::string What() const;

  const LeasePtr lease_;
  Engine& engine_;
  WriteOp write_;
  ReadOp read_;
  GrantRequest next_;
  Body written_;
  TimePoint sent_{};
  TimePoint give_up_;
  Backoff backoff_;
  bool doubted_ = false;
  bool handed_over_ = false;
  std::int64_t version_ = 0;
  State state_ = State::kStart;
  FailurePtr failure_;
};

}  // namespace doclock::detail
