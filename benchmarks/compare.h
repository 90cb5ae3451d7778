#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

/// @file
/// Every figure is a ratio to a floor measured in the same run: rounds of both, in turn, because
/// machines are noisy. scripts/bench.sh prints the counters as one table, and scripts/figures.py
/// keeps the rounds, which are in the label.

namespace doclock::bench {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

/// Runs `op` again and again for about `time`; returns runs per second.
template <class Op>
double Rate(Op op, std::chrono::nanoseconds time = 400ms) {
  using SteadyClock = std::chrono::steady_clock;
  const auto start = SteadyClock::now();
  auto now = start;
  long runs = 0;
  long chunk = 1;
  while (now - start < time) {
    for (long i = 0; i < chunk; ++i) op();
    runs += chunk;
    now = SteadyClock::now();
    if (now - start < time / 50) chunk = std::min(chunk * 2, 1024L);
  }
  return static_cast<double>(runs) / Seconds(now - start).count();
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// The target; `at_most` for times and spreads, where less is better.
struct Target {
  double value = 0;
  bool at_most = false;
};

/// Puts one line of the table into the counters.
inline void Report(benchmark::State& state, double floor, double ours, double ratio,
                   Target target) {
  state.counters["floor"] = floor;
  state.counters["ours"] = ours;
  state.counters["ratio"] = ratio;
  state.counters["target"] = target.value;
  state.counters["at_most"] = target.at_most ? 1 : 0;
}

/// The values as a JSON array.
inline std::string JsonArray(const std::vector<double>& values) {
  std::string all;
  for (const double value : values) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    all += (all.empty() ? "" : ",") + std::string(text);
  }
  return "[" + all + "]";
}

/// DOCLOCK_BENCH_ROUNDS limits the rounds of every benchmark, for a quick look.
inline int Rounds(int wanted) {
  const char* const text = std::getenv("DOCLOCK_BENCH_ROUNDS");
  const int limit = text == nullptr ? wanted : std::atoi(text);
  return std::max(1, std::min(wanted, limit));
}

/// Measures floor and subject in turn and reports the median of the rounds' ratios.
inline void Compare(benchmark::State& state, Target target, const std::function<double()>& floor,
                    const std::function<double()>& ours, int rounds = 9) {
  std::vector<double> floors, subjects, ratios;
  for (auto _ : state) {
    for (int i = 0; i < Rounds(rounds); ++i) {
      floors.push_back(floor());
      subjects.push_back(ours());
      ratios.push_back(subjects.back() / floors.back());
    }
  }
  Report(state, Median(floors), Median(subjects), Median(ratios), target);
  state.counters["ratio_min"] = *std::min_element(ratios.begin(), ratios.end());
  state.counters["ratio_max"] = *std::max_element(ratios.begin(), ratios.end());
  state.SetLabel("{\"floor\":" + JsonArray(floors) + ",\"ours\":" + JsonArray(subjects) + "}");
}

/// Jain's fairness index: 1 when all had the same.
inline double Jain(const std::vector<double>& shares) {
  double sum = 0, squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares == 0 ? 0 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace doclock::bench
