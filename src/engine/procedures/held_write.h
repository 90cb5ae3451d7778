#pragma once

#include "engine/engine.h"
#include "engine/failure.h"

namespace doclock::detail {

/// One write under a lease (checkpoint, release, erase): what is sent, and what its outcome makes
/// of the lease. The caller has moved the lease to kWriting; Written, Refused, Lost and Unknown
/// move it on.
class HeldWrite {
 public:
  HeldWrite(LeasePtr lease, WriteKind kind, Body body);
  HeldWrite(const HeldWrite&) = delete;
  HeldWrite& operator=(const HeldWrite&) = delete;

  /// With a release: the grant to hand the lock to.
  void HandOver(const GrantRequest& next);

  [[nodiscard]] const LeasePtr& lease() const noexcept { return lease_; }
  [[nodiscard]] WriteOp& op() noexcept { return write_; }
  [[nodiscard]] const WriteOp& op() const noexcept { return write_; }
  /// After its deadline a handle sends nothing more: another client may have the lock.
  [[nodiscard]] bool IsOver(TimePoint when) const noexcept {
    return lease_->lost() || when >= lease_->deadline();
  }
  /// It is about to be sent. @param again it was sent before, and is in doubt
  void Prepare(TimePoint when, bool again) noexcept;

  void Written(std::int64_t version, bool handed_over) noexcept;
  void Refused() noexcept { lease_->set_phase(Phase::kHeld); }
  FailurePtr Lost() noexcept;
  void Unknown() noexcept;

  /// The next holder's grant is a fact.
  [[nodiscard]] bool handed_over() const noexcept { return handed_over_; }
  [[nodiscard]] const GrantRequest& next() const noexcept { return next_; }
  [[nodiscard]] std::int64_t version() const noexcept { return version_; }
  [[nodiscard]] const Body& body() const noexcept { return written_; }
  /// When it was sent first: that request may be the one that takes effect.
  [[nodiscard]] TimePoint sent() const noexcept { return sent_; }
  /// A failure about its document: see MakeFailure.
  [[nodiscard]] FailurePtr Told(Errc code, const char* before, const char* after) const noexcept {
    return MakeFailure(code, *lease_->collection, lease_->key, before, after);
  }

 private:
  const LeasePtr lease_;
  WriteOp write_;
  GrantRequest next_;
  Body written_;
  TimePoint sent_{};
  bool handed_over_ = false;
  std::int64_t version_ = 0;
};

}  // namespace doclock::detail
