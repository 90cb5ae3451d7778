#pragma once

#include <atomic>
#include <cstdint>

namespace doclock::detail {

/// Pairs the event of a beginning with the event of its end, although two threads may bring them at
/// the same time: the end is told once, after the beginning, and only if the beginning was told.
/// Thread-safe.
class ToldPair {
 public:
  [[nodiscard]] bool IsNew() const noexcept { return state_.load() == State::kNew; }
  /// Call this once the beginning was told. True: the end has come already; the caller tells it.
  [[nodiscard]] bool Begin() noexcept {
    State fresh = State::kNew;
    return !state_.compare_exchange_strong(fresh, State::kBegun);
  }
  /// Call this when the end has come. True: the caller tells it.
  [[nodiscard]] bool End() noexcept { return state_.exchange(State::kEnded) == State::kBegun; }

 private:
  enum class State : std::uint8_t { kNew, kBegun, kEnded };
  std::atomic<State> state_ = State::kNew;
};

}  // namespace doclock::detail
