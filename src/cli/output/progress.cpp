#include "cli/output/progress.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <utility>

namespace doclock::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetween{200};

std::atomic<int> caught = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");

extern "C" void Note(int number) { caught = number; }

bool WasIgnored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Progress::Progress(std::string verb)
    : verb_(std::move(verb)),
      visible_(::isatty(STDERR_FILENO) == 1),
      started_(SteadyClock::now()),
      next_(started_ + kBetween) {}

Progress::~Progress() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::Show(std::int64_t count) {
  const auto now = SteadyClock::now();
  if (!visible_ || now < next_) return;
  next_ = now + kBetween;
  shown_ = true;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - started_).count();
  std::cerr << "\r\x1b[K" << count << " documents " << verb_ << ", "
            << count * 1000 / std::max<std::int64_t>(ms, 1) << " per second" << std::flush;
}

Interruption::Interruption() {
  struct sigaction action {};
  action.sa_handler = &Note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (!WasIgnored(number)) ::sigaction(number, &action, nullptr);
  }
}

int Interruption::signal() noexcept { return caught; }

}  // namespace doclock::cli
