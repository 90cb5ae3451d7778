#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/calls/procedure.h"
#include "engine/engine.h"
#include "engine/verbs/commit_part.h"

namespace doclock::detail {

/// The write of one document alone, with doubt settled: after a lost answer it looks at the
/// document (see TraceOf), and sends the same again where that cannot take effect twice. An
/// unproved write stays in doubt.
class LoneProcedure : public Procedure {
 public:
  LoneProcedure(Engine& engine, CommitPart& part)
      : engine_(engine), part_(part), give_up_(engine.Now() + engine.calls().budget()) {}

  Step Next() override;
  void Interrupt() noexcept override { Unknown(); }

 protected:
  /// Null: written.
  FailurePtr TakeFailure() noexcept { return std::move(failure_); }

 private:
  enum class State : std::uint8_t { kStart, kSent, kLook, kFinished };

  Step Send(std::chrono::nanoseconds pause);
  Step AfterSend();
  Step Look(std::chrono::nanoseconds pause);
  Step AfterLook();
  Step Written(const ReadOp* look) noexcept;
  Step Refused() noexcept;
  Step Unknown() noexcept;
  [[nodiscard]] bool IsOutOfTime(std::chrono::nanoseconds pause) const;

  Engine& engine_;
  CommitPart& part_;
  const TimePoint give_up_;
  std::optional<ReadOp> look_;
  Backoff backoff_;
  bool doubted_ = false;
  State state_ = State::kStart;
  FailurePtr failure_;
};

/// That of a part of this type.
template <class Part>
class Lone final : Part, public LoneProcedure {
 public:
  template <class... Args>
  explicit Lone(Engine& engine, Args&&... args)
      : Part(engine, std::forward<Args>(args)...),
        LoneProcedure(engine, static_cast<Part&>(*this)) {}
  ~Lone() override {
    if (begun()) Part::Drop();
  }

  auto Finish() noexcept {
    FailurePtr failure = TakeFailure();
    Part::End(failure != nullptr);
    return Part::ResultOf(std::move(failure));
  }
};

}  // namespace doclock::detail
