#include "platform/boot_timer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "platform/standard_numbers.h"

namespace doclock::platform {

/// A timerfd on CLOCK_BOOTTIME, because condition variables have only clocks that stop in suspend.
/// It sets relative times: the corrected BootClock and the kernel's boot time may differ (in a time
/// namespace), and an alarm in the past fires at once.
struct BootTimer::State {
  int timer = -1;
  int wake = -1;
};

BootTimer::BootTimer() : state_(std::make_unique<State>()) {
  const StandardNumbersTaken taken;
  state_->timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  state_->wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state_->timer < 0 || state_->wake < 0) {
    const int error = errno;
    if (state_->timer >= 0) ::close(state_->timer);
    if (state_->wake >= 0) ::close(state_->wake);
    throw std::system_error(error, std::system_category(), "cannot make a timer");
  }
}

BootTimer::~BootTimer() {
  ::close(state_->timer);
  ::close(state_->wake);
}

void BootTimer::SleepUntil(std::optional<TimePoint> when) {
  itimerspec alarm{};
  if (when) {
    const std::int64_t left = std::max<std::int64_t>((*when - BootClock::now()).count(), 1);
    alarm.it_value = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  }
  ::timerfd_settime(state_->timer, 0, &alarm, nullptr);
  pollfd fds[] = {{.fd = state_->timer, .events = POLLIN, .revents = 0},
                  {.fd = state_->wake, .events = POLLIN, .revents = 0}};
  ::poll(fds, 2, -1);
  std::uint64_t count = 0;
  while (::read(state_->wake, &count, sizeof count) > 0) {
  }
}

void BootTimer::Wake() noexcept {
  const std::uint64_t one = 1;
  // It can fail only if the counter is full, and a full counter wakes too.
  [[maybe_unused]] const auto written = ::write(state_->wake, &one, sizeof one);
}

}  // namespace doclock::platform
