#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "doclock/lock_manager.h"
#include "engine/runtime/task_threads.h"
#include "engine/runtime/timer_thread.h"

namespace doclock {
namespace {

class RealEvent final : public Runtime::Event {
 public:
  void Set() noexcept override {
    open_.store(1, std::memory_order_release);
    open_.notify_one();  // by address: touches no memory of the event, which may be gone by now
  }
  void Wait() override { open_.wait(0, std::memory_order_acquire); }

 private:
  std::atomic<int> open_ = 0;
};

class RealRuntime final : public Runtime {
 public:
  explicit RealRuntime(int workers) : workers_(workers), notifier_(1) {}
  ~RealRuntime() override { engine_.Stop(); }

  TimePoint Now() const noexcept override { return BootClock::now(); }
  TimerId Schedule(TimePoint when, Task task) noexcept override {
    return engine_.Schedule(when, std::move(task));
  }
  void Cancel(TimerId id) noexcept override {
    if (id != 0) engine_.Cancel(id);
  }
  void Post(Task task) noexcept override { engine_.Post(std::move(task)); }
  void Work(Task task) noexcept override { workers_.Post(std::move(task)); }
  void Notify(Task task) noexcept override { notifier_.Post(std::move(task)); }
  std::unique_ptr<Event> MakeEvent() override { return std::make_unique<RealEvent>(); }
  bool OnOwnThread() const noexcept override {
    return engine_.OnOwnThread() || workers_.OnOwnThread() || notifier_.OnOwnThread();
  }
  void Stop(std::chrono::nanoseconds timeout) override {
    const TimePoint end = Now() + timeout;
    const auto left = [&] { return std::max(end - Now(), std::chrono::nanoseconds(0)); };
    engine_.Stop();
    workers_.Stop(left());
    // If the callbacks of two managers close each other, one has to return first.
    notifier_.Stop(detail::OnTaskThread() ? std::optional(left()) : std::nullopt);
  }

 private:
  detail::TaskThreads workers_;
  detail::TaskThreads notifier_;
  detail::TimerThread engine_;
};

}  // namespace

std::shared_ptr<Runtime> MakeRuntime(int workers) { return std::make_shared<RealRuntime>(workers); }

}  // namespace doclock
