/// Writes of several documents that are stored together, or not at all.

#include "doclock/detail/commit.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/verbs/commit_part.h"
#include "engine/verbs/launch.h"
#include "engine/verbs/writing_lease.h"

namespace doclock::detail {
namespace {

/// One transaction, with doubt settled: all documents were written, or none, so what a look at one
/// of them proves holds for all.
class CommitProcedure final : public Procedure {
 public:
  /// `mark`: see WaitTable::BeginRelease.
  CommitProcedure(Engine& engine, CommitSpec&& spec, bool mark)
      : engine_(engine), give_up_(engine.Now() + engine.calls().budget()) {
    for (CommitPartSpec& part : spec.parts) {
      parts_.push_back(CommitPart::Make(engine, std::move(part), mark));
      ops_.push_back(&parts_.back()->op());
    }
    result_.versions.reserve(parts_.size());
    commit_.ops = ops_;
    commit_.join = std::move(spec.join);
  }
  ~CommitProcedure() override {
    if (!begun() || state_ == State::kFinished) return;
    for (const auto& part : parts_) part->Drop();
  }

  Step Next() override {
    switch (state_) {
      case State::kStart:
        return Send({});
      case State::kSent:
        return AfterCommit();
      case State::kLook:
        return AfterLook();
      case State::kFinished:
        break;
    }
    return {};
  }
  void Interrupt() noexcept override { Unknown(); }

  CommitResult Finish() noexcept {
    const bool failed = result_.failure || result_.thrown;
    for (const auto& part : parts_) part->End(failed);
    return std::move(result_);
  }

 private:
  enum class State : std::uint8_t { kStart, kSent, kLook, kFinished };

  Step Send(std::chrono::nanoseconds pause) {
    const TimePoint now = engine_.Now() + pause;
    for (const auto& part : parts_) {
      if (!part->MayBeSent(now)) return doubted_ ? Unknown() : Refused(part.get());
    }
    for (const auto& part : parts_) part->Prepare(now, doubted_);
    state_ = State::kSent;
    return {nullptr, pause, &commit_};
  }

  Step AfterCommit() {
    const auto is = [](OpStatus status) {
      return [status](const auto& part) { return part->op().status == status; };
    };
    if (std::all_of(parts_.begin(), parts_.end(), is(OpStatus::kDone))) return Written();
    if (!doubted_ && commit_.thrown) {
      result_.thrown = commit_.thrown;
      return Refused(nullptr);
    }
    const auto refused = std::find_if_not(parts_.begin(), parts_.end(), is(OpStatus::kPending));
    const bool answered = refused != parts_.end() && !is(OpStatus::kInDoubt)(*refused);
    if (!doubted_ && std::all_of(parts_.begin(), parts_.end(), is(OpStatus::kFailed))) {
      return StoreFailed();
    }
    // After doubt a refusal may be the trace of the first attempt: look.
    if (answered && !doubted_) return Refused(refused->get());
    doubted_ = true;
    if (!answered) {
      for (const auto& part : parts_) part->Doubted();
    }
    refused_ = commit_.thrown || (answered && !is(OpStatus::kFailed)(*refused));
    looked_at_ = 0;
    return Look({});
  }

  Step Look(std::chrono::nanoseconds pause) {
    const StoreOp& op = parts_[looked_at_]->op();
    look_.emplace(*op.collection, OpKey(*op.key, op.hash));
    state_ = State::kLook;
    return {&*look_, pause};
  }

  Step AfterLook() {
    const bool seen = look_->status == OpStatus::kDone || look_->status == OpStatus::kMissing;
    // Another client may have erased it since, which says nothing of the other documents.
    const bool gone = look_->status == OpStatus::kMissing && parts_.size() > 1;
    const Trace trace = !seen  ? Trace::kUnmoved
                        : gone ? Trace::kUnknown
                               : parts_[looked_at_]->TraceIn(*look_);
    if (trace == Trace::kWritten) return Written();
    if (trace == Trace::kNever) {
      parts_[looked_at_]->op().status = OpStatus::kLost;
      return Refused(parts_[looked_at_].get());
    }
    if (trace != Trace::kUnmoved) {
      return ++looked_at_ < parts_.size() ? Look({}) : Unknown();
    }
    // Another attempt would be refused as well, and the first one may be under way yet.
    if (seen && refused_) return Unknown();
    const auto pause = backoff_.Next();
    if (engine_.closed() || engine_.Now() + pause >= give_up_) return Unknown();
    return seen ? Send(pause) : Look(pause);
  }

  Step Written() noexcept {
    state_ = State::kFinished;
    for (const auto& part : parts_) result_.versions.push_back(part->Written(nullptr));
    return {};
  }

  /// @param why the part that is why nothing was written; null: none of them
  Step Refused(CommitPart* why) noexcept {
    state_ = State::kFinished;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].get() == why) {
        result_.refused = i;
      } else {
        parts_[i]->NotWritten();
      }
    }
    if (why != nullptr) result_.failure = why->Refused();
    return {};
  }

  /// No document is the reason.
  Step StoreFailed() noexcept {
    if (parts_.size() == 1) return Refused(parts_.front().get());
    const OpDetail& why = *ops_.front()->detail;
    result_.failure = MakeFailure(
        why.code, [&] { return "the transaction could not be stored: " + why.message; });
    return Refused(nullptr);
  }

  Step Unknown() noexcept {
    state_ = State::kFinished;
    const StoreOp& op = *ops_.front();
    result_.failure =
        ops_.size() == 1
            ? MakeFailure(Errc::kInDoubt, *op.collection, *op.key, "whether ", UnknownText(op))
            : MakeFailure(Errc::kInDoubt, [&] {
                return "whether " + Describe(*op.collection, *op.key) + " and " +
                       std::to_string(ops_.size() - 1) + " more were written is unknown";
              });
    for (const auto& part : parts_) part->Unknown();
    return {};
  }

  Engine& engine_;
  const TimePoint give_up_;
  std::vector<std::unique_ptr<CommitPart>> parts_;
  std::vector<StoreOp*> ops_;
  CommitOp commit_;
  std::optional<ReadOp> look_;
  std::size_t looked_at_ = 0;
  Backoff backoff_;
  bool doubted_ = false;
  bool refused_ = false;  ///< An attempt after the doubt was, for a reason that stays.
  State state_ = State::kStart;
  CommitResult result_;
};

/// Why no document may be written; null if all may.
FailurePtr WhyUnusable(Engine& engine, const CommitSpec& spec) noexcept {
  for (const CommitPartSpec& part : spec.parts) {
    const auto* const held = std::get_if<HolderSpec>(&part);
    if (held == nullptr) continue;
    if (FailurePtr failure = Unusable(*held->lease)) return failure;
  }
  return WhyClosed(engine);
}

}  // namespace

CommitResult Commit(const EnginePtr& engine, CommitSpec spec) {
  if (spec.parts.empty()) return {};
  return RunHere<CommitProcedure>(engine, WhyUnusable(*engine, spec), *engine, std::move(spec),
                                  false);
}

void CommitAsync(const EnginePtr& engine, CommitSpec spec, CommitDone done) {
  if (spec.parts.empty()) return RefuseLater<CommitResult>(*engine, nullptr, std::move(done));
  RunOnWorkers<CommitProcedure>(engine, WhyUnusable(*engine, spec), std::move(done), *engine,
                                std::move(spec), true);
}

}  // namespace doclock::detail
