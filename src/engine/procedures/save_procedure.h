#pragma once

#include "engine/engine.h"
#include "engine/procedures/procedure.h"

namespace doclock::detail {

/// What is sent, under a fresh id. The specification must outlive it.
SaveOp MakeSave(const SaveSpec& spec);
/// The failure of one that the store refused.
FailurePtr RefusalOf(const SaveOp& save) noexcept;

/// One optimistic write, with doubt settled (see TraceOf).
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
  Step Written() noexcept;
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
