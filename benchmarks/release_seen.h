#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "compare.h"
#include "doclock/time.h"

/// @file
/// One process releases, another one waits: how long the news takes.

namespace doclock::bench {

using Random = std::minstd_rand;

constexpr int kReleases = 60;

inline std::int64_t NowNs() { return BootClock::now().time_since_epoch().count(); }

/// Whose turn it is, and how long the news took.
struct Board {
  std::atomic<bool> ready = false;
  std::atomic<int> held = 0;     ///< rounds in which there is something to wait for
  std::atomic<int> waiting = 0;  ///< rounds that the waiter has begun
  std::atomic<int> seen = 0;     ///< rounds that it has ended
  std::atomic<std::int64_t> stamp = 0;
  std::array<double, kReleases> took_ms{};
};

inline void Until(const std::function<bool()>& done) {
  while (!done()) std::this_thread::sleep_for(1ms);
}

/// The waiter's side: `wait` returns when the release was seen, `after` makes room for the next.
template <class Wait, class After>
void Watch(Board& board, int rounds, Wait wait, After after) {
  board.ready = true;
  for (int i = 0; i < rounds; ++i) {
    Until([&] { return board.held > i; });
    ++board.waiting;
    wait();
    board.took_ms[static_cast<std::size_t>(i)] =
        static_cast<double>(NowNs() - board.stamp) / 1'000'000;
    after();
    ++board.seen;
  }
}

/// The other side: `before` takes the lock, `release` gives it back while the other one waits.
/// @param returned does the time count from the return of `release`, and not from its call?
template <class Before, class Release>
double Play(Board& board, int rounds, Before before, Release release, bool returned = false) {
  Random random(1);
  Until([&] { return board.ready.load(); });
  for (int i = 0; i < rounds; ++i) {
    before();
    ++board.held;
    Until([&] { return board.waiting == i + 1; });
    // Until it surely waits, and at no fixed point of any poller's rhythm.
    std::this_thread::sleep_for(std::chrono::milliseconds(60 + random() % 40));
    board.stamp = NowNs();
    release();
    if (returned) board.stamp = NowNs();
    Until([&] { return board.seen == i + 1; });
  }
  return Median(std::vector<double>(board.took_ms.begin(), board.took_ms.begin() + rounds));
}

}  // namespace doclock::bench
