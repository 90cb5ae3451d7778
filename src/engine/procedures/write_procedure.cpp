#include "engine/procedures/write_procedure.h"

#include <algorithm>
#include <utility>

#include "engine/procedures/background_release.h"

namespace doclock::detail {

WriteProcedure::WriteProcedure(LeasePtr lease, WriteKind kind, Body body)
    : lease_(std::move(lease)),
      engine_(*lease_->engine),
      write_(*lease_->collection, lease_->key),
      read_(*lease_->collection, {lease_->key, write_.hash}),
      written_(body ? body : lease_->body),
      give_up_(engine_.Now() + engine_.options().call_budget.ms()) {
  write_.write = kind;
  write_.lock_id = lease_->lock_id;
  write_.mode = lease_->mode;
  if (IsShare()) {
    write_.body = std::move(body);  // for the store to refuse
    return;
  }
  write_.expected = lease_->version;
  write_.born = lease_->born;
  write_.body = std::move(body);
  write_.base = lease_->body;
  write_.ttl = lease_->ttl();
  write_.fence = lease_->fence;
}

void WriteProcedure::HandOver(const GrantRequest& next) {
  next_ = next;
  write_.next = &next_;
}

Procedure::Step WriteProcedure::Next() {
  switch (state_) {
    case State::kStart:
      return Send({});
    case State::kWrite:
      return AfterWrite();
    case State::kLook:
      return AfterLook();
    case State::kFinished:
      break;
  }
  return {};
}

Procedure::Step WriteProcedure::Send(std::chrono::nanoseconds pause) {
  // After its deadline a handle sends nothing more: another client may have the lock.
  const TimePoint now = engine_.Now() + pause;
  if (lease_->lost() || now >= lease_->deadline()) return doubted_ ? Unknown() : Lost();
  write_.renewed = lease_->renewed();
  write_.again = doubted_;
  // The first time counts: that request may be the one that takes effect.
  if (state_ == State::kStart) sent_ = now;
  state_ = State::kWrite;
  return {&write_, pause};
}

Procedure::Step WriteProcedure::AfterWrite() {
  if (IsShare()) return AfterShareWrite();
  switch (write_.status) {
    case OpStatus::kDone:
      return Written(write_.version, write_.next != nullptr);
    case OpStatus::kInDoubt:
      doubted_ = true;
      return Look();
    case OpStatus::kLost:
    case OpStatus::kMissing:
      // After doubt this may be the trace of the first attempt: look.
      return doubted_ ? Look() : Lost();
    default:
      return doubted_ ? Look() : Refused(FailureOf(write_));
  }
}

Procedure::Step WriteProcedure::AfterShareWrite() {
  switch (write_.status) {
    case OpStatus::kDone:
      return Written(write_.version, false);
    case OpStatus::kInDoubt:
      doubted_ = true;
      break;
    case OpStatus::kLost:
    case OpStatus::kMissing:
      if (!doubted_) return Lost();
      // Its lease is not over, so it is missing because the first attempt released it. (Or another
      // client broke the lock: nothing had to be written, so the result is the same.)
      return engine_.Now() < lease_->deadline() ? Written(lease_->version, false) : Unknown();
    default:
      if (!doubted_) return Refused(FailureOf(write_));
  }
  // A look would not help: a share leaves no mark. A second release does no harm.
  const auto pause = backoff_.Next();
  return OutOfTime(pause) ? Unknown() : Send(pause);
}

Procedure::Step WriteProcedure::Look() {
  state_ = State::kLook;
  return {&read_};
}

Procedure::Step WriteProcedure::AfterLook() {
  if (read_.status == OpStatus::kMissing) {
    // No other client may erase under a live lock; and the document is erased, as requested.
    if (write_.write == WriteKind::kErase) return Written(VersionAfter(write_.expected), false);
    return Unknown();
  }
  if (read_.status == OpStatus::kDone) {
    // The next holder does not know of its lock yet: the look shows the version of this write.
    if (write_.next && read_.lock_id == next_.lock_id) return Written(read_.version, true);
    if (write_.write == WriteKind::kRelease && read_.released == write_.lock_id) {
      return Written(VersionAfter(write_.expected), false);
    }
    // Under its lock only the holder moves the version. What is further on than this write could
    // move it was written by another program, and proves nothing.
    const bool mine = read_.lock_id == write_.lock_id;
    const std::int64_t written = VersionAfter(write_.expected);
    if (write_.write == WriteKind::kCheckpoint && mine && read_.version == written) {
      return Written(written, false);
    }
    if (mine && read_.version == write_.expected) {  // not yet, or not at all: the same again
      const auto pause = backoff_.Next();
      return OutOfTime(pause) ? Unknown() : Send(pause);
    }
    return Unknown();  // moved, but not provably by this write: the lock may have been broken
  }
  const auto pause = backoff_.Next();
  if (OutOfTime(pause)) return Unknown();
  return {&read_, pause};
}

bool WriteProcedure::OutOfTime(std::chrono::nanoseconds pause) const {
  return engine_.closed() || engine_.Now() + pause >= std::min(give_up_, lease_->deadline());
}

Procedure::Step WriteProcedure::Written(std::int64_t version, bool with_next) noexcept {
  state_ = State::kFinished;
  version_ = version;
  handed_over_ = with_next;
  lease_->version = version;
  lease_->body = written_;
  if (write_.write == WriteKind::kCheckpoint) {
    lease_->set_phase(Phase::kHeld);
    engine_.Prolong(*lease_, sent_, write_.ttl);
    return {};
  }
  lease_->set_phase(Phase::kReleased);
  engine_.keeper().Remove(*lease_);
  return {};
}

Procedure::Step WriteProcedure::Refused(FailurePtr failure) noexcept {
  state_ = State::kFinished;
  failure_ = std::move(failure);
  lease_->set_phase(Phase::kHeld);
  return {};
}

Procedure::Step WriteProcedure::Lost() noexcept {
  state_ = State::kFinished;
  failure_ = MakeFailure(
      Errc::kLost, [&] { return "the lock of " + What() + " was lost; nothing was written"; });
  lease_->set_phase(Phase::kHeld);
  engine_.Lose(*lease_);
  return {};
}

Procedure::Step WriteProcedure::Unknown() noexcept {
  state_ = State::kFinished;
  failure_ =
      MakeFailure(Errc::kInDoubt, [&] { return "whether " + What() + " was written is unknown"; });
  lease_->set_phase(Phase::kInDoubt);
  engine_.keeper().Remove(*lease_);
  if (write_.next) {  // it may have been handed over to a waiter that will never know
    ReleaseGhostInBackground(engine_, *lease_->collection, lease_->key, next_.lock_id, next_.mode,
                             engine_.Now() + next_.ttl);
  }
  engine_.events().InDoubt(*lease_->collection, lease_->key);
  return {};
}

std::string WriteProcedure::What() const { return Describe(*lease_->collection, lease_->key); }

}  // namespace doclock::detail
