#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "engine/calls/procedure.h"
#include "engine/engine.h"
#include "engine/verbs/commit_part.h"

namespace doclock::detail {

/// The write of one document, or of several in a transaction, with doubt settled: after a lost
/// answer it looks at the documents (see TraceOf), and sends the same again where that cannot take
/// effect twice. Of a transaction all documents were written, or none, so what a read of one of
/// them proves holds for all. An unproved write stays in doubt.
class WriteProcedure : public Procedure {
 public:
  /// @param parts and `commit` must outlive the procedure
  /// @param commit sends them; null: there is one, which goes alone
  WriteProcedure(Engine& engine, std::span<CommitPart* const> parts, CommitOp* commit = nullptr)
      : engine_(engine),
        parts_(parts),
        commit_(commit),
        give_up_(engine.Now() + engine.calls().budget()) {}

  Step Next() override;

 protected:
  /// Ends the parts. Returns why nothing was written, or whether it was is unknown; null: written,
  /// or see thrown_.
  FailurePtr EndParts() noexcept;
  /// In place of EndParts: the procedure goes, perhaps unfinished.
  void DropParts() noexcept;

  std::size_t refused_part_ = 0;  ///< With a failure: the part that it names, if it names one.
  std::exception_ptr thrown_;     ///< What CommitOp::join threw: nothing was written.

 private:
  enum class State : std::uint8_t { kStart, kSent, kLook, kFinished };

  Step Send(std::chrono::nanoseconds pause);
  Step AfterSend();
  /// The write of one document leaves no trace, and an attempt was in doubt.
  Step WithoutTrace(OpStatus status);
  Step Look(std::chrono::nanoseconds pause);
  Step AfterLook();
  Step Written(const ReadOp* look) noexcept;
  /// @param why the part that is why nothing was written; null: none of them
  Step Refused(CommitPart* why) noexcept;
  Step StoreFailed() noexcept;
  Step Unknown() noexcept;
  [[nodiscard]] bool IsOutOfTime(std::chrono::nanoseconds pause) const;

  Engine& engine_;
  const std::span<CommitPart* const> parts_;
  CommitOp* const commit_;
  const TimePoint give_up_;
  std::optional<ReadOp> look_;
  std::size_t looked_at_ = 0;
  Backoff backoff_;
  bool doubted_ = false;
  bool stays_refused_ = false;  ///< An attempt after the doubt was refused, and others would be.
  State state_ = State::kStart;
  FailurePtr failure_;
};

/// A part, and the list of it alone.
template <class Part>
struct OnePart : Part {
  using Part::Part;
  CommitPart* const list[1] = {this};
};

/// The write of a part of this type alone.
template <class Part>
class Lone final : OnePart<Part>, public WriteProcedure {
 public:
  template <class... Args>
  explicit Lone(Engine& engine, Args&&... args)
      : OnePart<Part>(engine, std::forward<Args>(args)...), WriteProcedure(engine, this->list) {}
  ~Lone() override { DropParts(); }

  auto Finish() noexcept { return Part::ResultOf(EndParts()); }
};

}  // namespace doclock::detail
