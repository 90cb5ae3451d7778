#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "doclock/detail/engine.h"
#include "engine/calls/procedure.h"
#include "engine/engine.h"
#include "rules/trace.h"

namespace doclock::detail {

/// The write of one document, alone or in a transaction (WriteProcedure). Of Written, Refused,
/// NotWritten and Unknown one is called, and then End.
class CommitPart {
 public:
  /// @param mark see WaitTable::BeginRelease
  /// @throws std::logic_error if the lease was released already, or is in use
  static std::unique_ptr<CommitPart> Make(Engine& engine, CommitPartSpec&& spec, bool mark);

  CommitPart() = default;
  CommitPart(const CommitPart&) = delete;
  CommitPart& operator=(const CommitPart&) = delete;
  virtual ~CommitPart() = default;

  virtual StoreOp& op() noexcept = 0;
  /// May it be sent, or does its holder know that it has no lock?
  [[nodiscard]] virtual bool MayBeSent(TimePoint /*when*/) const noexcept { return true; }
  /// It is about to be sent. @param is_retry it was sent before, and is in doubt
  virtual void Prepare(TimePoint when, bool is_retry) noexcept = 0;
  /// Doubt is not settled later.
  [[nodiscard]] virtual TimePoint deadline() const noexcept { return TimePoint::max(); }
  /// Whether a read can prove it. If not, it is sent again until the store says that nothing is
  /// left to do.
  [[nodiscard]] virtual bool leaves_trace() const noexcept { return true; }
  [[nodiscard]] virtual Trace TraceIn(const ReadOp& look) const noexcept = 0;
  /// This attempt is in doubt.
  void Doubted() noexcept;

  /// All documents were written. Returns the version of this one.
  /// @param look what proved it, if it went alone and its answer was lost; else null
  virtual std::int64_t Written(const ReadOp* look) noexcept = 0;
  /// None was written, because of this one; or it may not be sent.
  virtual FailurePtr Refused() noexcept = 0;
  /// None was written, because of another one.
  virtual void NotWritten() noexcept {}
  virtual void Unknown() noexcept = 0;
  virtual void End(bool /*failed*/) noexcept {}
  /// It was sent, and goes; without End it will not be finished.
  virtual void Drop() noexcept {}

  std::int64_t version = 0;  ///< What Written has returned.

 protected:
  /// The version after a write that is proved. If its answer was lost, a read does not show it:
  /// other clients may have locked and written since. If several answers were lost, it is the
  /// lowest that one of them may have left: the next write may be refused, and never overwrites.
  template <class Op>
  [[nodiscard]] std::int64_t VersionOf(const Op& op) const noexcept {
    return op.status == OpStatus::kDone ? op.result.version : least_version_;
  }

 private:
  std::int64_t least_version_ = INT64_MAX;  ///< That an attempt in doubt may have left.
};

/// What stands behind the document's name in the text of doubt.
const char* UnknownText(const StoreOp& op) noexcept;

/// An optimistic write, under a fresh id.
class SavePart : public CommitPart {
 public:
  SavePart(Engine& engine, SaveSpec&& spec);

  SaveOp& op() noexcept override { return save_; }
  void Prepare(TimePoint, bool is_retry) noexcept override { save_.is_retry = is_retry; }
  [[nodiscard]] Trace TraceIn(const ReadOp& look) const noexcept override {
    return TraceOf(save_, look);
  }
  std::int64_t Written(const ReadOp* look) noexcept override;
  FailurePtr Refused() noexcept override;
  void Unknown() noexcept override {
    if (save_.request.Writes()) engine_.events().InDoubt(*spec_.collection, spec_.key);
  }

  SaveResult ResultOf(FailurePtr failure) noexcept {
    result_.failure = std::move(failure);
    return std::move(result_);
  }

 private:
  Engine& engine_;
  const SaveSpec spec_;
  SaveOp save_;
  SaveResult result_;
};

/// A release by value. Its lease's deadline is unknown here, so only the mark of the release can
/// settle doubt. The mark is its own: the handle, or another copy of the entity, would leave the
/// lock id as the mark, with another body.
class ValuePart : public CommitPart {
 public:
  ValuePart(Engine& engine, ValueRelease&& release);

  WriteOp& op() noexcept override { return write_; }
  [[nodiscard]] bool MayBeSent(TimePoint) const noexcept override {
    return !release_.lock_id.is_nil();
  }
  void Prepare(TimePoint, bool is_retry) noexcept override { write_.is_retry = is_retry; }
  [[nodiscard]] bool leaves_trace() const noexcept override {
    return release_.collection->turns() == nullptr;
  }
  [[nodiscard]] Trace TraceIn(const ReadOp& look) const noexcept override;
  std::int64_t Written(const ReadOp*) noexcept override { return VersionOf(write_); }
  FailurePtr Refused() noexcept override;
  void Unknown() noexcept override { engine_.events().InDoubt(*release_.collection, release_.key); }
  void End(bool) noexcept override { engine_.calls().Freed(*release_.collection, write_.hash); }

  static FailurePtr ResultOf(FailurePtr failure) noexcept { return failure; }

 private:
  Engine& engine_;
  const ValueRelease release_;
  WriteOp write_;
};

}  // namespace doclock::detail
