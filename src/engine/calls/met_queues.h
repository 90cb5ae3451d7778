#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "doclock/time.h"

namespace doclock::detail {

/// Remembers at which documents attempts of this process met waiters in the store's queue lately.
/// There the next caller's first attempt takes its place at once, and the store chooses its
/// requests accordingly (StoreOp::queue_likely). A wrong guess costs that caller only the way
/// through a worker, or a request. Thread-safe.
class MetQueues {
 public:
  /// Entries stand in the queue of the document of this hash.
  void Met(std::size_t hash, TimePoint now) noexcept {
    until_[hash % kSlots].store(now + kRecent, std::memory_order_relaxed);
  }
  /// Are there waiters at this document, probably?
  [[nodiscard]] bool Knows(std::size_t hash, TimePoint now) const noexcept {
    return now < until_[hash % kSlots].load(std::memory_order_relaxed);
  }

 private:
  /// A queue that was not met again for this long is taken for empty.
  static constexpr std::chrono::seconds kRecent{2};
  /// Documents with a slot in common are taken for one.
  static constexpr std::size_t kSlots = 1024;

  struct Until : std::atomic<TimePoint> {
    Until() noexcept : std::atomic<TimePoint>(TimePoint::min()) {}
  };
  std::array<Until, kSlots> until_;
};

}  // namespace doclock::detail
