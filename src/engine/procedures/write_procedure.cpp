#include "engine/procedures/write_procedure.h"

#include <algorithm>
#include <utility>

#include "engine/procedures/trace.h"

namespace doclock::detail {

WriteProcedure::WriteProcedure(HeldWrite& write)
    : held_(write),
      write_(write.op()),
      lease_(write.lease()),
      engine_(*lease_->engine),
      read_(*lease_->collection, {lease_->key, write_.hash}),
      give_up_(engine_.Now() + engine_.options().call_budget.ms()) {}

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
  const TimePoint now = engine_.Now() + pause;
  if (held_.IsOver(now)) return doubted_ ? Unknown() : Lost();
  held_.Prepare(now, doubted_);
  state_ = State::kWrite;
  return {&write_, pause};
}

Procedure::Step WriteProcedure::AfterWrite() {
  if (IsUnmarked()) return AfterUnmarkedWrite();
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

Procedure::Step WriteProcedure::AfterUnmarkedWrite() {
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
  // A look would not help. A second release does no harm.
  const auto pause = backoff_.Next();
  return OutOfTime(pause) ? Unknown() : Send(pause);
}

Procedure::Step WriteProcedure::Look() {
  state_ = State::kLook;
  return {&read_};
}

Procedure::Step WriteProcedure::AfterLook() {
  const bool seen = read_.status == OpStatus::kDone || read_.status == OpStatus::kMissing;
  const Trace trace = seen ? TraceOf(write_, read_) : Trace::kUnmoved;
  if (trace == Trace::kWritten) {
    // The next holder does not know of its lock yet: the look shows the version of this write.
    const bool with_next = write_.next != nullptr && read_.lock_id == write_.next->lock_id;
    return Written(with_next ? read_.version : VersionAfter(write_.expected), with_next);
  }
  if (trace == Trace::kUnknown) return Unknown();
  const auto pause = backoff_.Next();
  if (OutOfTime(pause)) return Unknown();
  return seen ? Send(pause) : Step{&read_, pause};
}

bool WriteProcedure::OutOfTime(std::chrono::nanoseconds pause) const {
  return engine_.closed() || engine_.Now() + pause >= std::min(give_up_, lease_->deadline());
}

Procedure::Step WriteProcedure::Written(std::int64_t version, bool with_next) noexcept {
  state_ = State::kFinished;
  held_.Written(version, with_next);
  return {};
}

Procedure::Step WriteProcedure::Refused(FailurePtr failure) noexcept {
  state_ = State::kFinished;
  failure_ = std::move(failure);
  held_.Refused();
  return {};
}

Procedure::Step WriteProcedure::Lost() noexcept {
  state_ = State::kFinished;
  failure_ = held_.Lost();
  return {};
}

Procedure::Step WriteProcedure::Unknown() noexcept {
  state_ = State::kFinished;
  failure_ = MakeFailure(Errc::kInDoubt,
                         [&] { return "whether " + held_.What() + " was written is unknown"; });
  held_.Unknown();
  return {};
}

}  // namespace doclock::detail
