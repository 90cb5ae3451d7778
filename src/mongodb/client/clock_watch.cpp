#include "mongodb/client/clock_watch.h"

#include <condition_variable>
#include <mutex>

#include "platform/signals_blocked.h"

namespace doclock::mongodb {
namespace {

constexpr std::chrono::seconds kMeasurePause{30};
/// The pause while members are away, or not yet known.
constexpr std::chrono::seconds kMeasureSoon{1};
constexpr std::chrono::milliseconds kMeasureBudget{2000};
constexpr std::chrono::milliseconds kDiscovery{100};

}  // namespace

ClockWatch::ClockWatch(std::shared_ptr<Server> server)
    : server_(std::move(server)), clocks_(*server_) {
  const bool complete = Discover();
  const platform::SignalsBlocked blocked;
  thread_ = std::jthread([this, complete](const std::stop_token& stop) { Run(stop, complete); });
}

ClockWatch::~ClockWatch() = default;

/// The driver knows the primary a moment before the other members.
bool ClockWatch::Discover() {
  const auto end = std::chrono::steady_clock::now() + kDiscovery;
  while (!clocks_.Measure(kMeasureBudget)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void ClockWatch::Run(const std::stop_token& stop, bool complete) {
  std::mutex mutex;
  std::condition_variable_any pause;
  std::unique_lock lock(mutex);
  const auto stopped = [&] { return stop.stop_requested(); };
  while (!pause.wait_for(lock, stop, complete ? kMeasurePause : kMeasureSoon, stopped)) {
    complete = clocks_.Measure(kMeasureBudget);
  }
}

}  // namespace doclock::mongodb
