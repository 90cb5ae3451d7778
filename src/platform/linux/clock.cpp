#include "doclock/clock.h"

#include <time.h>

#include <fstream>
#include <string>

namespace doclock {
namespace {

/// A time namespace shifts CLOCK_BOOTTIME for those inside it; processes inside and outside must
/// agree on lease times, so the shift is taken out. Read once: it cannot change for a process
/// that runs.
std::chrono::nanoseconds NamespaceShift() {
  std::ifstream offsets("/proc/self/timens_offsets");
  std::string clock;
  long long seconds = 0, nanoseconds = 0;
  while (offsets >> clock >> seconds >> nanoseconds) {
    if (clock == "boottime") {
      return std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds);
    }
  }
  return std::chrono::nanoseconds(0);
}

}  // namespace

BootClock::time_point BootClock::now() noexcept {
  static const std::chrono::nanoseconds shift = NamespaceShift();
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) -
                    shift);
}

}  // namespace doclock
