#include "platform/boot_timer.h"

#include <condition_variable>
#include <mutex>

namespace doclock::platform {

struct BootTimer::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;
};

BootTimer::BootTimer() : state_(std::make_unique<State>()) {}
BootTimer::~BootTimer() = default;

void BootTimer::SleepUntil(std::optional<TimePoint> when) {
  std::unique_lock lock(state_->mutex);
  const auto woken = [this] { return state_->woken; };
  if (when) {
    state_->changed.wait_for(lock, *when - BootClock::now(), woken);
  } else {
    state_->changed.wait(lock, woken);
  }
  state_->woken = false;
}

void BootTimer::Wake() noexcept {
  const std::scoped_lock lock(state_->mutex);
  state_->woken = true;
  state_->changed.notify_one();
}

}  // namespace doclock::platform
