#include "progress.h"

#include <unistd.h>

#include <cstdio>

namespace order_saga {

Progress::Progress(std::size_t total) : total_(total), terminal_(::isatty(STDERR_FILENO) != 0) {}

double Progress::Elapsed() const {
  return std::chrono::duration<double>(SteadyClock::now() - start_).count();
}

void Progress::Show(std::size_t done, std::size_t steps, int take_overs, bool last) {
  using namespace std::chrono_literals;
  const auto now = SteadyClock::now();
  if (!last && now - shown_ < (terminal_ ? 100ms : 1000ms)) return;
  shown_ = now;
  const double elapsed = Elapsed();
  const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0.0;
  if (terminal_) std::fputc('\r', stderr);
  std::fprintf(stderr, "%zu/%zu sagas (%zu steps), %.0f sagas/s, take-overs: %d, %.1f s", done,
               total_, steps, rate, take_overs, elapsed);
  if (terminal_) std::fputs("\033[K", stderr);  // what is left of a longer line before
  if (last || !terminal_) std::fputc('\n', stderr);
  std::fflush(stderr);
}

}  // namespace order_saga
