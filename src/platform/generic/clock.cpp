#include "doclock/time.h"

namespace doclock {

BootClock::time_point BootClock::now() noexcept {
  return time_point(std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now().time_since_epoch()));
}

}  // namespace doclock
