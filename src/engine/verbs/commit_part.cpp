#include "engine/verbs/commit_part.h"

#include <utility>
#include <variant>

#include "engine/procedures/procedure.h"
#include "engine/procedures/save_procedure.h"
#include "engine/verbs/holder_write.h"
#include "engine/verbs/release_by_value.h"

namespace doclock::detail {
namespace {

/// The version after a write that is proved. If a look proved it, the store's answer was lost.
template <class Op>
std::int64_t VersionOf(const Op& op, std::int64_t expected) noexcept {
  return op.status == OpStatus::kDone ? op.version : VersionAfter(expected);
}

class HolderPart final : public CommitPart {
 public:
  HolderPart(HolderSpec&& spec, bool mark)
      : write_(WritingLease::BeginOrThrow(spec.lease), spec.kind, spec.body, mark) {}

  WriteOp& op() noexcept override { return held().op(); }
  [[nodiscard]] bool MayBeSent(TimePoint when) const noexcept override {
    return !write_.held().IsOver(when);
  }
  void Prepare(TimePoint when, bool is_retry) noexcept override { held().Prepare(when, is_retry); }
  [[nodiscard]] Trace TraceIn(const ReadOp& look) const noexcept override {
    return TraceOf(write_.held().op(), look);
  }
  std::int64_t Written() noexcept override {
    held().Written(VersionOf(op(), op().expected), op().next != nullptr);
    return held().version();
  }
  FailurePtr Refused() noexcept override {
    const OpStatus status = op().status;
    const bool lost =
        status == OpStatus::kPending || status == OpStatus::kLost || status == OpStatus::kMissing;
    if (lost) return held().Lost();
    held().Refused();
    return FailureOf(op());
  }
  void NotWritten() noexcept override { held().Refused(); }
  void Unknown() noexcept override { held().Unknown(); }
  void Finish(bool failed) noexcept override { write_.Finish(failed); }
  void Drop() noexcept override { write_.Doubt(); }

 private:
  HeldWrite& held() noexcept { return write_.held(); }

  HolderWrite write_;
};

class SavePart final : public CommitPart {
 public:
  SavePart(Engine& engine, SaveSpec&& spec)
      : engine_(engine), spec_(std::move(spec)), save_(MakeSave(spec_)) {}

  SaveOp& op() noexcept override { return save_; }
  [[nodiscard]] bool MayBeSent(TimePoint) const noexcept override { return true; }
  void Prepare(TimePoint, bool is_retry) noexcept override {
    save_.born = spec_.born;
    save_.is_retry = is_retry;
  }
  [[nodiscard]] Trace TraceIn(const ReadOp& look) const noexcept override {
    return TraceOf(save_, look);
  }
  std::int64_t Written() noexcept override {
    engine_.Saved(save_);
    return VersionOf(save_, spec_.save == SaveKind::kInsert ? 0 : spec_.expected);
  }
  FailurePtr Refused() noexcept override { return RefusalOf(save_); }
  void Unknown() noexcept override { engine_.events().InDoubt(*spec_.collection, spec_.key); }

 private:
  Engine& engine_;
  const SaveSpec spec_;
  SaveOp save_;
};

class ValuePart final : public CommitPart {
 public:
  ValuePart(Engine& engine, ValueRelease&& release)
      : engine_(engine), release_(std::move(release)), write_(MakeWrite(release_)) {}

  WriteOp& op() noexcept override { return write_; }
  [[nodiscard]] bool MayBeSent(TimePoint) const noexcept override {
    return !release_.lock_id.is_nil();
  }
  void Prepare(TimePoint, bool is_retry) noexcept override { write_.is_retry = is_retry; }
  [[nodiscard]] Trace TraceIn(const ReadOp& look) const noexcept override {
    return TraceOf(write_, look);
  }
  std::int64_t Written() noexcept override { return VersionOf(write_, release_.version); }
  FailurePtr Refused() noexcept override {
    return MayBeSent({}) ? RefusalOf(release_, write_) : NotOwner(release_);
  }
  void Unknown() noexcept override { engine_.events().InDoubt(*release_.collection, release_.key); }
  void Finish(bool) noexcept override { engine_.Freed(*release_.collection, write_.hash); }

 private:
  Engine& engine_;
  const ValueRelease release_;
  WriteOp write_;
};

struct Maker {
  Engine& engine;
  bool mark;
  std::unique_ptr<CommitPart> operator()(HolderSpec&& spec) const {
    return std::make_unique<HolderPart>(std::move(spec), mark);
  }
  std::unique_ptr<CommitPart> operator()(SaveSpec&& spec) const {
    return std::make_unique<SavePart>(engine, std::move(spec));
  }
  std::unique_ptr<CommitPart> operator()(ValueRelease&& release) const {
    return std::make_unique<ValuePart>(engine, std::move(release));
  }
};

}  // namespace

std::unique_ptr<CommitPart> CommitPart::Make(Engine& engine, CommitPartSpec&& spec, bool mark) {
  return std::visit(Maker{engine, mark}, std::move(spec));
}

}  // namespace doclock::detail
