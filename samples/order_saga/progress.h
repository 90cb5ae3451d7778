#pragma once

#include <chrono>
#include <cstddef>

namespace order_saga {

/// Shows on the standard error how far the run is: on a terminal one line that changes, else a
/// line every second.
class Progress {
 public:
  /// For this many sagas.
  explicit Progress(std::size_t total);

  void Show(std::size_t done, std::size_t steps, int take_overs) {
    Show(done, steps, take_overs, false);
  }
  /// The last word.
  void Finish(std::size_t done, std::size_t steps, int take_overs) {
    Show(done, steps, take_overs, true);
  }
  /// Seconds since it was made.
  [[nodiscard]] double Elapsed() const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  void Show(std::size_t done, std::size_t steps, int take_overs, bool last);

  const std::size_t total_;
  const bool terminal_;
  const SteadyClock::time_point start_ = SteadyClock::now();
  SteadyClock::time_point shown_ = start_;
};

}  // namespace order_saga
