#pragma once

#include <cstdint>
#include <memory>

#include "doclock/detail/commit.h"
#include "engine/engine.h"
#include "engine/procedures/trace.h"

namespace doclock::detail {

/// The write of one document in a transaction. Of Written, Refused, NotWritten and Unknown one is
/// called, and then Finish.
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
  [[nodiscard]] virtual bool MayBeSent(TimePoint when) const noexcept = 0;
  /// It is about to be sent. @param is_retry it was sent before, and is in doubt
  virtual void Prepare(TimePoint when, bool is_retry) noexcept = 0;
  [[nodiscard]] virtual Trace TraceIn(const ReadOp& look) const noexcept = 0;

  /// All documents were written. Returns the version of this one.
  virtual std::int64_t Written() noexcept = 0;
  /// None was written, because of this one; or it may not be sent.
  virtual FailurePtr Refused() noexcept = 0;
  /// None was written, because of another one.
  virtual void NotWritten() noexcept {}
  virtual void Unknown() noexcept = 0;
  virtual void Finish(bool /*failed*/) noexcept {}
  /// In place of Finish: it was sent, and will not be finished.
  virtual void Drop() noexcept {}
};

}  // namespace doclock::detail
