#pragma once

#include <memory>
#include <utility>

#include "testing/scheduler.h"

namespace doclock::testing {

/// One manager's view of the scheduler: it can be stopped alone.
class ManualClock::VirtualRuntime : public Runtime {
 public:
  explicit VirtualRuntime(std::shared_ptr<Scheduler> scheduler)
      : scheduler_(std::move(scheduler)), owner_(scheduler_->AddOwner()) {}
  ~VirtualRuntime() override { scheduler_->DropOwner(owner_); }

  [[nodiscard]] TimePoint Now() const noexcept override { return scheduler_->Now(); }
  TimerId Schedule(TimePoint when, Task task) override {
    return scheduler_->AddTimer(owner_, when, std::move(task));
  }
  void Cancel(TimerId id) noexcept override { scheduler_->Cancel(id); }
  void Post(Task task) override { scheduler_->Enqueue(owner_, std::move(task)); }
  void Work(Task task) override { scheduler_->EnqueueWork(owner_, std::move(task)); }
  void Notify(Task task) override { scheduler_->Enqueue(owner_, std::move(task)); }
  std::unique_ptr<Event> MakeEvent() override;
  [[nodiscard]] bool IsVirtual() const noexcept override { return true; }
  [[nodiscard]] bool OnOwnThread() const noexcept override { return scheduler_->InTask(); }
  void Stop(std::chrono::nanoseconds) override { scheduler_->StopOwner(owner_); }

 private:
  class VirtualEvent;

  std::shared_ptr<Scheduler> scheduler_;
  Scheduler::OwnerId owner_;
};

}  // namespace doclock::testing
