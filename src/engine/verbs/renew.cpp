/// A holder's renewal, and its last one: detaching.

#include <utility>

#include "engine/verbs/launch.h"
#include "engine/verbs/writing_lease.h"

namespace doclock::detail {
namespace {

/// Attempts after one whose outcome is unknown.
constexpr int kMaxRetries = 4;

/// A renewal under the holder's lock, sent again while its outcome is unknown and the lease lasts.
/// The keeper's renewals go on meanwhile; in whatever order they arrive, the lease ends no sooner
/// than the later of them.
class RenewalProcedure : public Procedure {
 public:
  Step Next() override {
    if (op_.status == OpStatus::kPending) return Send({});
    // Once one was in doubt, a later one that fails settles nothing: the first may have taken
    // effect.
    doubted_ = doubted_ || op_.status == OpStatus::kInDoubt;
    if (doubted_ && op_.status == OpStatus::kFailed) op_.status = OpStatus::kInDoubt;
    if (op_.status == OpStatus::kInDoubt && retries_++ < kMaxRetries) return Send(backoff_.Next());
    return {};
  }

 protected:
  RenewalProcedure(const LeasePtr& lease, std::chrono::milliseconds ttl)
      : writing_(WritingLease::BeginOrThrow(lease)),
        lease_(lease),
        op_(*lease_->collection, lease_->key) {
    op_.request.lock_id = lease_->lock_id;
    op_.request.ttl = ttl.count() == 0 ? lease_->ttl() : ttl;
    op_.request.mode = lease_->mode;
  }

  /// The lock's own deadline had passed, or the store does not know the lock any more.
  FailurePtr Lost() noexcept {
    lease_->set_phase(Phase::kHeld);
    lease_->engine->leases().Lose(*lease_);
    return Told(Errc::kLost, "the lock of ", " was lost");
  }
  /// The new lease may have begun, as late as now.
  void NoteLength() noexcept {
    lease_->NoteStoredUntil(lease_->engine->Now() + op_.request.ttl);
    if (lease_->lost()) lease_->engine->leases().GiveBackLost(*lease_);
  }
  /// See MakeFailure.
  [[nodiscard]] FailurePtr Told(Errc code, const char* before, const char* after) const noexcept {
    return MakeFailure(code, *lease_->collection, lease_->key, before, after);
  }

  WritingLease writing_;
  const LeasePtr lease_;
  RenewOp op_;
  TimePoint sent_{};

 private:
  Step Send(std::chrono::nanoseconds pause) {
    const TimePoint when = lease_->engine->Now() + pause;
    if (when >= lease_->deadline()) return {};
    // The first time counts: that request may be the one that takes effect.
    if (op_.status == OpStatus::kPending) sent_ = when;
    return {&op_, pause};
  }

  Backoff backoff_;
  int retries_ = 0;
  bool doubted_ = false;
};

/// Renews the lease with another length.
class Renewing final : public RenewalProcedure {
 public:
  Renewing(const LeasePtr& lease, std::chrono::milliseconds ttl) : RenewalProcedure(lease, ttl) {}
  ~Renewing() override {
    if (begun() && writing_.lease()) NoteLength();
  }

  FailurePtr Finish() noexcept {
    writing_.Done();
    if (op_.status == OpStatus::kInDoubt) NoteLength();
    switch (op_.status) {
      case OpStatus::kDone:
        lease_->set_phase(Phase::kHeld);
        lease_->set_ttl(op_.request.ttl);
        return lease_->engine->leases().Prolong(*lease_, sent_, op_.request.ttl) ? nullptr : Lost();
      case OpStatus::kPending:  // never sent: its deadline had passed
      case OpStatus::kLost:
      case OpStatus::kMissing:
        return Lost();
      case OpStatus::kInDoubt:
        if (lease_->lost()) return Lost();
        lease_->set_phase(Phase::kHeld);
        return Told(Errc::kInDoubt, "whether the lock of ",
                    " was renewed is unknown; it is still held");
      default:
        lease_->set_phase(Phase::kHeld);
        return FailureOf(op_);
    }
  }
};

/// Tells the store that the lease alone decides from now on.
class Detaching final : public RenewalProcedure {
 public:
  explicit Detaching(const LeasePtr& lease) : RenewalProcedure(lease, {}) {
    op_.request.detached = true;
  }
  ~Detaching() override {
    if (begun()) writing_.Doubt();
  }

  FailurePtr Finish() noexcept {
    if (op_.status == OpStatus::kInDoubt) {
      writing_.Doubt();
      return FailureOf(op_);
    }
    writing_.Done();
    switch (op_.status) {
      case OpStatus::kDone:
        if (!lease_->engine->leases().Prolong(*lease_, sent_, op_.request.ttl)) return Lost();
        lease_->StopRenewing();
        lease_->set_phase(Phase::kDetached);
        lease_->engine->leases().keeper().Remove(*lease_);
        lease_->engine->events().Ended(*lease_, Ending::kOther);
        return nullptr;
      case OpStatus::kPending:  // never sent: its deadline had passed
      case OpStatus::kLost:
      case OpStatus::kMissing:
        return Lost();
      default:
        lease_->set_phase(Phase::kHeld);
        return FailureOf(op_);
    }
  }
};

}  // namespace

FailurePtr Renew(const LeasePtr& lease, std::chrono::milliseconds ttl) {
  return RunHere<Renewing>(lease->engine, Unusable(*lease), lease, ttl);
}

void RenewAsync(const LeasePtr& lease, std::chrono::milliseconds ttl, WriteDone done) {
  RunOnWorkers<Renewing>(lease->engine, Unusable(*lease), std::move(done), lease, ttl);
}

FailurePtr Detach(const LeasePtr& lease) {
  return RunHere<Detaching>(lease->engine, Unusable(*lease), lease);
}

void DetachAsync(const LeasePtr& lease, WriteDone done) {
  RunOnWorkers<Detaching>(lease->engine, Unusable(*lease), std::move(done), lease);
}

}  // namespace doclock::detail
