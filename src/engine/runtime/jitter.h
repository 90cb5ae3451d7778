#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "doclock/time.h"

namespace doclock::detail {

/// The random numbers of one thread (SplitMix64), seeded unlike those of the others.
inline std::uint64_t& JitterState() {
  static std::atomic<std::uint64_t> seed{0x9e3779b97f4a7c15U};
  thread_local std::uint64_t state =
      seed.fetch_add(0x632be59bd9b4e019U) ^
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return state;
}

/// For tests that repeat a run: begins this thread's random times anew.
inline void SeedJitter(std::uint64_t seed) { JitterState() = seed; }

/// Random times between two bounds, so that waiters do not poll all at once. Thread-safe.
inline std::chrono::milliseconds Jitter(Duration min, Duration max) {
  std::uint64_t mixed = JitterState() += 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 31U;
  const auto span = static_cast<std::uint64_t>(max.count() - min.count()) + 1;
  return std::chrono::milliseconds(min.count() + static_cast<std::int64_t>(mixed % span));
}

}  // namespace doclock::detail
