#include "engine/verbs/write_procedure.h"

#include <algorithm>
#include <string>

namespace doclock::detail {
namespace {

auto Is(OpStatus status) noexcept {
  return [status](CommitPart* part) { return part->op().status == status; };
}

}  // namespace

Procedure::Step WriteProcedure::Next() {
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

FailurePtr WriteProcedure::EndParts() noexcept {
  for (CommitPart* const part : parts_) part->End(failure_ || thrown_);
  return std::move(failure_);
}

void WriteProcedure::DropParts() noexcept {
  if (!begun()) return;
  for (CommitPart* const part : parts_) part->Drop();
}

Procedure::Step WriteProcedure::Send(std::chrono::nanoseconds pause) {
  const TimePoint now = engine_.Now() + pause;
  for (CommitPart* const part : parts_) {
    if (!part->MayBeSent(now)) return doubted_ ? Unknown() : Refused(part);
  }
  for (CommitPart* const part : parts_) part->Prepare(now, doubted_);
  state_ = State::kSent;
  return {commit_ ? nullptr : &parts_.front()->op(), pause, commit_};
}

Procedure::Step WriteProcedure::AfterSend() {
  if (std::ranges::all_of(parts_, Is(OpStatus::kDone))) return Written(nullptr);
  const bool thrown = commit_ && commit_->thrown;
  if (!doubted_ && thrown) {
    thrown_ = commit_->thrown;
    return Refused(nullptr);
  }
  const auto first = std::ranges::find_if_not(parts_, Is(OpStatus::kPending));
  CommitPart* const refused =
      first == parts_.end() || Is(OpStatus::kInDoubt)(*first) ? nullptr : *first;
  if (!doubted_ && refused) {
    const bool names_one =
        parts_.size() == 1 || !std::ranges::all_of(parts_, Is(OpStatus::kFailed));
    return names_one ? Refused(refused) : StoreFailed();
  }
  doubted_ = true;
  if (!refused) {
    for (CommitPart* const part : parts_) part->Doubted();
  }
  // After doubt a refusal may be the trace of the first attempt: look.
  if (!commit_ && !parts_.front()->leaves_trace()) return WithoutTrace(parts_.front()->op().status);
  stays_refused_ = thrown || (commit_ && refused && !Is(OpStatus::kFailed)(refused));
  looked_at_ = 0;
  return Look({});
}

Procedure::Step WriteProcedure::WithoutTrace(OpStatus status) {
  const TimePoint deadline = parts_.front()->deadline();
  if (status == OpStatus::kLost || status == OpStatus::kMissing) {
    // The lease is not over, so it is missing because the first attempt released it. (Or another
    // client broke the lock: nothing had to be written, so the result is the same.) Without a
    // deadline it may have been over, and what others hold proves nothing.
    const bool ended = status == OpStatus::kMissing || deadline != TimePoint::max();
    return ended && engine_.Now() < deadline ? Written(nullptr) : Unknown();
  }
  const auto pause = backoff_.Next();
  return IsOutOfTime(pause) ? Unknown() : Send(pause);
}

Procedure::Step WriteProcedure::Look(std::chrono::nanoseconds pause) {
  const StoreOp& op = parts_[looked_at_]->op();
  look_.emplace(*op.collection, OpKey(*op.key, op.hash));
  state_ = State::kLook;
  return {&*look_, pause};
}

Procedure::Step WriteProcedure::AfterLook() {
  CommitPart* const part = parts_[looked_at_];
  const bool is_alone = parts_.size() == 1;
  const bool seen = look_->status == OpStatus::kDone || look_->status == OpStatus::kMissing;
  // Another client may have erased it since, which says nothing of the other documents.
  const bool gone = look_->status == OpStatus::kMissing && !is_alone;
  const Trace trace = !seen ? Trace::kUnmoved : gone ? Trace::kUnknown : part->TraceIn(*look_);
  if (trace == Trace::kWritten) return Written(is_alone ? &*look_ : nullptr);
  if (trace == Trace::kNever) {
    part->op().status = OpStatus::kLost;
    return Refused(part);
  }
  if (trace == Trace::kUnknown) return ++looked_at_ < parts_.size() ? Look({}) : Unknown();
  // Another attempt would be refused as well, and the first one may be under way yet.
  if (seen && stays_refused_) return Unknown();
  const auto pause = backoff_.Next();
  if (IsOutOfTime(pause)) return Unknown();
  return seen ? Send(pause) : Look(pause);
}

bool WriteProcedure::IsOutOfTime(std::chrono::nanoseconds pause) const {
  const TimePoint when = engine_.Now() + pause;
  const auto over = [when](const CommitPart* part) { return when >= part->deadline(); };
  return engine_.closed() || when >= give_up_ || std::ranges::any_of(parts_, over);
}

Procedure::Step WriteProcedure::Written(const ReadOp* look) noexcept {
  state_ = State::kFinished;
  for (CommitPart* const part : parts_) part->version = part->Written(look);
  return {};
}

Procedure::Step WriteProcedure::Refused(CommitPart* why) noexcept {
  state_ = State::kFinished;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i] == why) {
      refused_part_ = i;
    } else {
      parts_[i]->NotWritten();
    }
  }
  if (why != nullptr) failure_ = why->Refused();
  return {};
}

/// No document is the reason.
Procedure::Step WriteProcedure::StoreFailed() noexcept {
  const OpDetail& why = *parts_.front()->op().detail;
  failure_ =
      MakeFailure(why.code, [&] { return "the transaction could not be stored: " + why.message; });
  return Refused(nullptr);
}

Procedure::Step WriteProcedure::Unknown() noexcept {
  state_ = State::kFinished;
  const StoreOp& op = parts_.front()->op();
  failure_ = parts_.size() == 1
                 ? MakeFailure(Errc::kInDoubt, *op.collection, *op.key, "whether ", UnknownText(op))
                 : MakeFailure(Errc::kInDoubt, [&] {
                     return "whether " + Describe(*op.collection, *op.key) + " and " +
                            std::to_string(parts_.size() - 1) + " more were written is unknown";
                   });
  for (CommitPart* const part : parts_) part->Unknown();
  return {};
}

}  // namespace doclock::detail
