#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "doclock/runtime.h"

namespace doclock::detail {

/// Another runtime, whose workers and timers a test can replace: by what throws, for one. Leaves it
/// to others to stop it. `before_each` runs before every function that takes a task or makes an
/// event.
class FailingRuntime final : public Runtime {
 public:
  explicit FailingRuntime(std::shared_ptr<Runtime> real) : real_(std::move(real)) {}

  std::function<void(Task)> on_work;
  std::function<TimerId()> on_schedule;
  std::function<void()> before_notify;
  std::function<void()> before_each;

  TimePoint Now() const noexcept override { return real_->Now(); }
  TimerId Schedule(TimePoint when, Task task) override {
    if (before_each) before_each();
    return on_schedule ? on_schedule() : real_->Schedule(when, std::move(task));
  }
  void Cancel(TimerId id) noexcept override { real_->Cancel(id); }
  void Post(Task task) override {
    if (before_each) before_each();
    real_->Post(std::move(task));
  }
  void Work(Task task) override {
    if (before_each) before_each();
    if (const auto hook = on_work) return hook(std::move(task));
    real_->Work(std::move(task));
  }
  void Notify(Task task) override {
    if (before_each) before_each();
    if (before_notify) before_notify();
    real_->Notify(std::move(task));
  }
  std::unique_ptr<Event> MakeEvent() override {
    if (before_each) before_each();
    return real_->MakeEvent();
  }
  bool OnOwnThread() const noexcept override { return real_->OnOwnThread(); }
  void Stop(std::chrono::nanoseconds) override {}

 private:
  const std::shared_ptr<Runtime> real_;
};

}  // namespace doclock::detail
