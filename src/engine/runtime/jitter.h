#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>

#include "doclock/duration.h"

namespace doclock::detail {

/// Random times between two bounds, so that waiters do not poll all at once. Thread-safe.
inline std::chrono::milliseconds Jitter(Duration min, Duration max) {
  static std::atomic<std::uint32_t> seed{0x9e3779b9};
  thread_local std::minstd_rand random(
      seed.fetch_add(0x9e3779b9) ^
      static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  return std::chrono::milliseconds(
      std::uniform_int_distribution<std::int64_t>(min.count(), max.count())(random));
}

}  // namespace doclock::detail
