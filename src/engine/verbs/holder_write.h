#pragma once

#include <memory>
#include <utility>

#include "engine/verbs/commit_part.h"
#include "engine/verbs/writing_lease.h"

namespace doclock::detail {

/// How a handle ends that makes this write. @param body the new one
Ending EndingOf(const Lease& lease, WriteKind kind, const Body& body) noexcept;

/// One write of a holder (checkpoint, release, erase): what is sent, what its outcome makes of the
/// lease, the hand-over to a waiter of this process, and what the observer gets.
class HolderWrite : public CommitPart {
 public:
  /// `mark`: see WaitTable::BeginRelease.
  HolderWrite(Engine& engine, WritingLease writing, WriteKind kind, const Body& body, bool mark);
  HolderWrite(Engine& engine, HolderSpec&& spec, bool mark)
      : HolderWrite(engine, WritingLease::BeginOrThrow(spec.lease), spec.kind, spec.body, mark) {}

  WriteOp& op() noexcept override { return write_; }
  /// After its deadline a handle sends nothing more: another client may have the lock.
  [[nodiscard]] bool MayBeSent(TimePoint when) const noexcept override {
    return !lease_->lost() && when < lease_->deadline();
  }
  void Prepare(TimePoint when, bool is_retry) noexcept override;
  [[nodiscard]] TimePoint deadline() const noexcept override { return lease_->deadline(); }
  /// A share leaves none, nor does a release in another library's documents.
  [[nodiscard]] bool leaves_trace() const noexcept override {
    return lease_->mode != LockMode::kShared &&
           (lease_->collection->turns() == nullptr || write_.request.next != nullptr);
  }
  [[nodiscard]] Trace TraceIn(const ReadOp& look) const noexcept override {
    return TraceOf(write_, look);
  }
  std::int64_t Written(const ReadOp* look) noexcept override;
  FailurePtr Refused() noexcept override;
  void NotWritten() noexcept override { lease_->set_phase(Phase::kHeld); }
  void Unknown() noexcept override;
  void End(bool failed) noexcept override;
  void Drop() noexcept override { writing_.Doubt(); }

  static FailurePtr ResultOf(FailurePtr failure) noexcept { return failure; }

 private:
  const LeasePtr lease_;
  Engine& engine_;
  const Ending ending_;
  const std::shared_ptr<void> background_;
  WritingLease writing_;
  WriteOp write_;
  const Body written_;  ///< The body from then on.
  GrantRequest next_;
  WaitTable::Release release_;
  TimePoint sent_{};  ///< When it was sent first: that request may be the one that takes effect.
  bool handed_over_ = false;  ///< The next holder's grant is a fact.
};

}  // namespace doclock::detail
