#include "progress.h"

#include <unistd.h>

#include <cstdio>

namespace order_saga {

Progress::Progress(std::size_t total) : total_(total), terminal_(::isatty(STDERR_FILENO) != 0) {}

double Progress::Elapsed() const {
  return std::chrono::duration<double>(SteadyClock::now() - start_).count();
}

void Progress::Show(std::size_t done, int take_overs, bool last) {
  using namespace std::chrono_literals;
  const auto now = SteadyClock::now();
  if (!last && now - shown_ < (terminal_ ? 100ms : 1000ms)) return;
  shown_ = now;
  const double elapsed = Elapsed();
  std::fprintf(stderr, "%s%zu/%zu sagas, %.0f/s, take-overs: %d, %.1f s%s", terminal_ ? "\r" : "",
               done, total_, elapsed > 0 ? static_cast<double>(done) / elapsed : 0.0, take_overs,
               elapsed, terminal_ ? (last ? "\033[K\n" : "\033[K") : "\n");
  std::fflush(stderr);
}

}  // namespace order_saga
