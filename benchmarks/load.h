#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "compare.h"

/// @file
/// Many callers, each in a thread of its own, that run their cycles again and again.

namespace doclock::bench {

struct Load {
  double rate = 0;    ///< cycles per second, of all callers
  double p50_ms = 0;  ///< of one cycle
  double p99_ms = 0;
  std::size_t cycles = 0;
};

inline double Quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

/// Each of `callers` threads runs its cycle again and again for `time`.
template <class MakeCycle>
Load Drive(int callers, MakeCycle make, std::chrono::milliseconds time) {
  std::vector<std::vector<double>> took(static_cast<std::size_t>(callers));
  std::atomic<int> ready = 0;
  std::atomic<bool> go = false;
  std::vector<std::jthread> threads;
  for (int me = 0; me < callers; ++me) {
    threads.emplace_back([&, me] {
      auto cycle = make(me);
      cycle();  // connections are made here
      ++ready;
      while (!go) std::this_thread::sleep_for(1ms);
      const auto start = std::chrono::steady_clock::now();
      for (auto before = start; before - start < time;) {
        cycle();
        const auto now = std::chrono::steady_clock::now();
        took[static_cast<std::size_t>(me)].push_back(Seconds(now - before).count() * 1000);
        before = now;
      }
    });
  }
  while (ready < callers) std::this_thread::sleep_for(1ms);
  go = true;
  threads.clear();
  std::vector<double> all;
  for (const auto& part : took) all.insert(all.end(), part.begin(), part.end());
  Load load;
  load.rate = static_cast<double>(all.size()) / Seconds(time).count();
  load.p50_ms = Quantile(all, 0.5);
  load.p99_ms = Quantile(all, 0.99);
  load.cycles = all.size();
  return load;
}

}  // namespace doclock::bench
