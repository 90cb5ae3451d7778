#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/runtime/passing_runtime.h"

namespace doclock::detail {

/// Another runtime, whose workers and timers a test can replace: by what throws, for one. Leaves it
/// to others to stop it. `before_each` runs before every function that takes a task or makes an
/// event.
class FailingRuntime final : public test::PassingRuntime {
 public:
  using PassingRuntime::PassingRuntime;

  std::function<void(Task)> on_work;
  std::function<TimerId()> on_schedule;
  std::function<void()> before_notify;
  std::function<void()> before_each;

  TimerId Schedule(TimePoint when, Task task) override {
    if (before_each) before_each();
    return on_schedule ? on_schedule() : PassingRuntime::Schedule(when, std::move(task));
  }
  void Post(Task task) override {
    if (before_each) before_each();
    PassingRuntime::Post(std::move(task));
  }
  void Work(Task task) override {
    if (before_each) before_each();
    if (const auto hook = on_work) return hook(std::move(task));
    PassingRuntime::Work(std::move(task));
  }
  void Notify(Task task) override {
    if (before_each) before_each();
    if (before_notify) before_notify();
    PassingRuntime::Notify(std::move(task));
  }
  std::unique_ptr<Event> MakeEvent() override {
    if (before_each) before_each();
    return PassingRuntime::MakeEvent();
  }
  void Stop(std::chrono::nanoseconds) override {}
};

}  // namespace doclock::detail
