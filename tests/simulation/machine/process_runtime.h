#pragma once

#include <memory>
#include <set>

#include "doclock/lock_manager.h"
#include "simulation/machine/process.h"

namespace doclock::simulation {

/// The threads and the time of one manager on a simulated machine.
class ProcessRuntime : public Runtime {
 public:
  explicit ProcessRuntime(Process& process) : process_(process) {}
  ~ProcessRuntime() override;

  [[nodiscard]] TimePoint Now() const noexcept override { return process_.Now(); }
  TimerId Schedule(TimePoint when, Task task) override;
  void Cancel(TimerId id) noexcept override;
  void Post(Task task) override;
  void Work(Task task) override;
  void Notify(Task task) override;
  std::unique_ptr<Event> MakeEvent() override;
  [[nodiscard]] bool OnOwnThread() const noexcept override { return false; }
  void Stop(std::chrono::nanoseconds timeout) override;

 private:
  Process& process_;
  bool stopped_ = false;
  std::set<TimerId> timers_;  ///< Those that are still to come.
};

}  // namespace doclock::simulation
