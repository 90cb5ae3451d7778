#pragma once

#include "engine/engine.h"
#include "engine/procedures/procedure.h"

namespace doclock::detail {

/// One optimistic write, with doubt settled: the write leaves its own id in the document
/// (lockReleased), and only that id proves it. An insert in doubt is never sent again: it could
/// bring back a document that was erased meanwhile.
class SaveProcedure final : public Procedure {
 public:
  SaveProcedure(Engine& engine, SaveSpec spec);

  Step Next() override;
  void Interrupt() noexcept override { Unknown(); }
  SaveResult Finish() { return std::move(result_); }

 private:
  enum class State : std::uint8_t { kStart, kSave, kLook, kFinished };

  Step Send(std::chrono::nanoseconds pause);
  Step AfterSave();
  Step AfterLook();
  Step Look(std::chrono::nanoseconds pause);
  Step End(FailurePtr failure) noexcept;
  Step Unknown() noexcept;

  Engine& engine_;
  SaveSpec spec_;
  SaveOp save_;
  ReadOp read_;
  const TimePoint give_up_;
  Backoff backoff_;
  bool doubted_ = false;
  State state_ = State::kStart;
  SaveResult result_;
};

}  // namespace doclock::detail
