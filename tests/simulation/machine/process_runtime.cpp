#include "simulation/machine/process_runtime.h"

#include <utility>

namespace doclock::simulation {
namespace {

class LatchEvent : public Runtime::Event {
 public:
  explicit LatchEvent(Process& process) : latch_(process) {}
  void Set() noexcept override { latch_.Open(); }
  void Wait() override { latch_.Wait(); }

 private:
  Latch latch_;
};

}  // namespace

ProcessRuntime::~ProcessRuntime() {
  for (const TimerId id : timers_) process_.StopTimer(id);
}

Runtime::TimerId ProcessRuntime::Schedule(TimePoint when, Task task) {
  if (stopped_) return 0;
  const auto id = std::make_shared<TimerId>();
  *id = process_.StartTimer(when, [this, id, task = std::move(task)] {
    timers_.erase(*id);
    task();
  });
  timers_.insert(*id);
  return *id;
}

void ProcessRuntime::Cancel(TimerId id) noexcept {
  if (timers_.erase(id) != 0) process_.StopTimer(id);
}

void ProcessRuntime::Post(Task task) { process_.Post(std::move(task)); }

void ProcessRuntime::Work(Task task) { process_.StartThread(std::move(task)); }

void ProcessRuntime::Notify(Task task) { process_.Post(std::move(task)); }

std::unique_ptr<Runtime::Event> ProcessRuntime::MakeEvent() {
  return std::make_unique<LatchEvent>(process_);
}

void ProcessRuntime::Stop(std::chrono::nanoseconds) {
  stopped_ = true;
  while (!timers_.empty()) Cancel(*timers_.begin());
}

}  // namespace doclock::simulation
