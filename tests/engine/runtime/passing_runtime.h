#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "doclock/lock_manager.h"

namespace doclock::test {

/// Passes all on to another runtime. A subclass changes or watches some of it.
class PassingRuntime : public Runtime {
 public:
  explicit PassingRuntime(std::shared_ptr<Runtime> inner) : inner_(std::move(inner)) {}

  TimePoint Now() const noexcept override { return inner_->Now(); }
  TimerId Schedule(TimePoint when, Task task) override {
    return inner_->Schedule(when, std::move(task));
  }
  void Cancel(TimerId id) noexcept override { inner_->Cancel(id); }
  void Post(Task task) override { inner_->Post(std::move(task)); }
  void Work(Task task) override { inner_->Work(std::move(task)); }
  void Notify(Task task) override { inner_->Notify(std::move(task)); }
  std::unique_ptr<Event> MakeEvent() override { return inner_->MakeEvent(); }
  bool IsVirtual() const noexcept override { return inner_->IsVirtual(); }
  bool OnOwnThread() const noexcept override { return inner_->OnOwnThread(); }
  void Stop(std::chrono::nanoseconds timeout) override { inner_->Stop(timeout); }

 private:
  const std::shared_ptr<Runtime> inner_;
};

}  // namespace doclock::test
