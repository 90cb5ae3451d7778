#pragma once

#include <atomic>
#include <cstdint>

namespace doclock::detail {

/// What the observer saw of a pair of events: a beginning, and its end.
enum class ToldState : std::uint8_t {
  kNothing,
  kBeginning,
  kLeftOut,  ///< The beginning was left out.
  kEnd,      ///< The end has come.
};

/// Pairs the event of a beginning with the event of its end, although two threads may bring them at
/// the same time: the end is reported once, and after the beginning. Thread-safe.
class ToldPair {
 public:
  [[nodiscard]] bool IsNew() const noexcept { return state_.load() == ToldState::kNothing; }
  /// Call this once the beginning was reported, or left out. Returns the state before; kEnd: the
  /// end has come already, and the caller reports it.
  [[nodiscard]] ToldState Begin(bool told) noexcept {
    ToldState before = ToldState::kNothing;
    state_.compare_exchange_strong(before, told ? ToldState::kBeginning : ToldState::kLeftOut);
    return before;
  }
  /// Call this when the end has come. Returns the state before; kBeginning: the caller tells it.
  [[nodiscard]] ToldState End() noexcept { return state_.exchange(ToldState::kEnd); }

 private:
  std::atomic<ToldState> state_ = ToldState::kNothing;
};

}  // namespace doclock::detail
