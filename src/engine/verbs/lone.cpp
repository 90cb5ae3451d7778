#include "engine/verbs/lone.h"

#include <algorithm>

namespace doclock::detail {

Procedure::Step LoneProcedure::Next() {
  switch (state_) {
    case State::kStart:
      return Send({});
    case State::kSent:
      return AfterSend();
    case State::kLook:
      return AfterLook();
    case State::kFinished:
      break;
  }
  return {};
}

Procedure::Step LoneProcedure::Send(std::chrono::nanoseconds pause) {
  const TimePoint now = engine_.Now() + pause;
  if (!part_.MayBeSent(now)) return doubted_ ? Unknown() : Refused();
  part_.Prepare(now, doubted_);
  state_ = State::kSent;
  return {&part_.op(), pause};
}

Procedure::Step LoneProcedure::AfterSend() {
  const OpStatus status = part_.op().status;
  if (status == OpStatus::kDone) return Written(nullptr);
  if (status != OpStatus::kInDoubt && !doubted_) return Refused();
  doubted_ = true;
  if (status == OpStatus::kInDoubt) part_.Doubted();
  // After doubt a refusal may be the trace of the first attempt: look.
  if (part_.leaves_trace()) return Look({});
  if (status == OpStatus::kLost || status == OpStatus::kMissing) {
    // The lease is not over, so it is missing because the first attempt released it. (Or another
    // client broke the lock: nothing had to be written, so the result is the same.)
    return engine_.Now() < part_.deadline() ? Written(nullptr) : Unknown();
  }
  const auto pause = backoff_.Next();
  return IsOutOfTime(pause) ? Unknown() : Send(pause);
}

Procedure::Step LoneProcedure::Look(std::chrono::nanoseconds pause) {
  const StoreOp& op = part_.op();
  look_.emplace(*op.collection, OpKey(*op.key, op.hash));
  state_ = State::kLook;
  return {&*look_, pause};
}

Procedure::Step LoneProcedure::AfterLook() {
  const bool seen = look_->status == OpStatus::kDone || look_->status == OpStatus::kMissing;
  const Trace trace = seen ? part_.TraceIn(*look_) : Trace::kUnmoved;
  if (trace == Trace::kWritten) return Written(&*look_);
  if (trace == Trace::kUnknown) return Unknown();
  if (trace == Trace::kNever) {
    part_.op().status = OpStatus::kLost;
    return Refused();
  }
  const auto pause = backoff_.Next();
  if (IsOutOfTime(pause)) return Unknown();
  return seen ? Send(pause) : Look(pause);
}

bool LoneProcedure::IsOutOfTime(std::chrono::nanoseconds pause) const {
  return engine_.closed() || engine_.Now() + pause >= std::min(give_up_, part_.deadline());
}

Procedure::Step LoneProcedure::Written(const ReadOp* look) noexcept {
  state_ = State::kFinished;
  part_.Written(look);
  return {};
}

Procedure::Step LoneProcedure::Refused() noexcept {
  state_ = State::kFinished;
  failure_ = part_.Refused();
  return {};
}

Procedure::Step LoneProcedure::Unknown() noexcept {
  state_ = State::kFinished;
  const StoreOp& op = part_.op();
  failure_ =
      MakeFailure(Errc::kInDoubt, *op.collection, *op.key, "whether ", " was written is unknown");
  part_.Unknown();
  return {};
}

}  // namespace doclock::detail
