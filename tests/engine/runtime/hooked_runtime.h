#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/runtime/passing_runtime.h"

namespace doclock::detail {

/// Another runtime: a test takes what its workers run, and sees what is notified. Leaves it to
/// others to stop it.
class HookedRuntime final : public test::PassingRuntime {
 public:
  using PassingRuntime::PassingRuntime;

  std::function<void(Task)> on_work;
  std::function<void()> before_notify;

  void Work(Task task) override {
    if (const auto hook = on_work) return hook(std::move(task));
    PassingRuntime::Work(std::move(task));
  }
  void Notify(Task task) override {
    if (before_notify) before_notify();
    PassingRuntime::Notify(std::move(task));
  }
  void Stop(std::chrono::nanoseconds) override {}
};

}  // namespace doclock::detail
