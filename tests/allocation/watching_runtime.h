#pragma once

#include <memory>
#include <utility>

#include "allocation/failing_new.h"
#include "engine/runtime/passing_runtime.h"

namespace doclock::allocation_test {

/// Another runtime, whose tasks are code under test: it counts those that throw, which would end a
/// program with real threads.
class WatchingRuntime final : public test::PassingRuntime {
 public:
  using PassingRuntime::PassingRuntime;

  [[nodiscard]] int escaped() const noexcept { return *escaped_; }

  TimerId Schedule(TimePoint when, Task task) override {
    return PassingRuntime::Schedule(when, Watched(std::move(task)));
  }
  void Post(Task task) override { PassingRuntime::Post(Watched(std::move(task))); }
  void Work(Task task) override { PassingRuntime::Work(Watched(std::move(task))); }
  void Notify(Task task) override { PassingRuntime::Notify(Watched(std::move(task))); }
  std::unique_ptr<Event> MakeEvent() override {
    return std::make_unique<WatchedEvent>(PassingRuntime::MakeEvent());
  }
  void Stop(std::chrono::nanoseconds patience) override {
    const TestsOwnCode code;
    PassingRuntime::Stop(patience);
  }

 private:
  /// To wait allocates nothing: what does is the virtual time.
  class WatchedEvent final : public Event {
   public:
    explicit WatchedEvent(std::unique_ptr<Event> event) : event_(std::move(event)) {}
    void Set() noexcept override { event_->Set(); }
    void Wait() override {
      const TestsOwnCode code;
      event_->Wait();
    }

   private:
    const std::unique_ptr<Event> event_;
  };

  Task Watched(Task task) {
    return [escaped = escaped_, task = std::move(task)] {
      const CodeUnderTest code;
      try {
        task();
      } catch (...) {
        ++*escaped;
      }
    };
  }

  const std::shared_ptr<int> escaped_ = std::make_shared<int>(0);
};

}  // namespace doclock::allocation_test
