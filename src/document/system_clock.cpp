#include <memory>

#include "doclock/time.h"

namespace doclock {
namespace {

class BootTimeClock final : public Clock {
 public:
  TimePoint Now() const noexcept override { return BootClock::now(); }
};

}  // namespace

std::shared_ptr<const Clock> SystemClock() {
  static const auto* const clock = new auto(std::make_shared<BootTimeClock>());  // never destroyed
  return *clock;
}

}  // namespace doclock
