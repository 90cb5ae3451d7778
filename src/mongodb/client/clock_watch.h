#pragma once

#include <memory>
#include <thread>

#include "mongodb/client/clocks.h"

namespace doclock::mongodb {

/// Measures the members' clocks at once, and then periodically on a thread of its own.
class ClockWatch {
 public:
  explicit ClockWatch(std::shared_ptr<Server> server);
  ClockWatch(const ClockWatch&) = delete;
  ClockWatch& operator=(const ClockWatch&) = delete;
  ~ClockWatch();

  [[nodiscard]] ClockSkew skew() const { return clocks_.skew(); }
  [[nodiscard]] std::chrono::nanoseconds margin() const { return clocks_.margin(); }

 private:
  bool Discover();
  void Run(const std::stop_token& stop, bool complete);

  const std::shared_ptr<Server> server_;
  Clocks clocks_;
  std::jthread thread_;
};

}  // namespace doclock::mongodb
