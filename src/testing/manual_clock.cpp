#include "doclock/testing/manual_clock.h"

#include <chrono>

#include "testing/scheduler.h"
#include "testing/virtual_runtime.h"

namespace doclock::testing {
namespace {

/// Durations are milliseconds that may be Duration::Max(); time points are nanoseconds.
std::chrono::nanoseconds ToNanos(Duration length) noexcept {
  constexpr auto kLongest =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds::max());
  if (length.ms() >= kLongest) return std::chrono::nanoseconds::max();
  if (length.count() <= 0) return {};
  return length.ms();
}

using std::chrono::system_clock;

system_clock::duration SinceZero(TimePoint time) noexcept {
  return std::chrono::duration_cast<system_clock::duration>(time.time_since_epoch());
}

}  // namespace

class ManualClock::VirtualRuntime::VirtualEvent : public Runtime::Event {
 public:
  explicit VirtualEvent(std::shared_ptr<Scheduler> scheduler) : scheduler_(std::move(scheduler)) {}
  void Set() noexcept override { open_.store(true, std::memory_order_release); }
  void Wait() override { scheduler_->RunUntil(open_); }

 private:
  std::shared_ptr<Scheduler> scheduler_;
  std::atomic<bool> open_{false};
};

std::unique_ptr<Runtime::Event> ManualClock::VirtualRuntime::MakeEvent() {
  return std::make_unique<VirtualEvent>(scheduler_);
}

ManualClock::ManualClock()
    : scheduler_(std::make_shared<Scheduler>()),
      wall_start_(system_clock::now() - SinceZero(scheduler_->Now())) {}

ManualClock::~ManualClock() = default;

TimePoint ManualClock::Now() const noexcept { return scheduler_->Now(); }

system_clock::time_point ManualClock::WallTime() const noexcept {
  return wall_start_ + SinceZero(Now());
}

void ManualClock::Advance(Duration by) { scheduler_->Advance(ToNanos(by)); }

void ManualClock::RunPending() { scheduler_->RunPending(); }

void ManualClock::Jump(Duration by) { scheduler_->Jump(ToNanos(by)); }

void ManualClock::DelayWork(Duration by) { scheduler_->DelayWork(ToNanos(by)); }

std::shared_ptr<Runtime> ManualClock::runtime() const {
  return std::make_shared<VirtualRuntime>(scheduler_);
}

}  // namespace doclock::testing
