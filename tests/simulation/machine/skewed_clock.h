#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "doclock/time.h"
#include "simulation/world.h"

namespace doclock::simulation {

/// The clock of one machine: it may be fast or slow, jump ahead, or stop. It never goes back.
class SkewedClock {
 public:
  /// A clock that runs true runs at this rate.
  static constexpr std::int64_t kTrue = 1'000'000;
  /// A holder's deadline bears a clock that is slower than the store's by a thousandth.
  static constexpr std::int64_t kSlowest = kTrue - 800;

  explicit SkewedClock(TimePoint start) : local_(start) {}

  [[nodiscard]] TimePoint At(Time truth) const noexcept {
    return local_ + std::chrono::nanoseconds((truth - since_).count() * rate_ / kTrue);
  }
  /// When to look whether it shows this, at its present rate; nothing if it never will.
  [[nodiscard]] std::optional<Time> WhenItShows(TimePoint local, Time now) const noexcept {
    if (local <= At(now)) return now;
    if (rate_ == 0) return std::nullopt;
    // Hours ahead, the product below would overflow.
    const auto ahead = std::min<std::chrono::nanoseconds>(local - local_, std::chrono::hours(2));
    return std::max(now, since_ + Time(ahead.count() * kTrue / rate_ + 1));
  }

  void SetRate(Time now, std::int64_t rate) noexcept {
    Settle(now);
    if (!IsWithinMargin()) unreliable_until_ = now;
    rate_ = rate;
  }
  void Jump(Time now, std::chrono::nanoseconds ahead) noexcept {
    Settle(now);
    local_ += ahead;
  }

  /// Has it never been too slow since then? (A holder whose clock is fast only stops too early.)
  [[nodiscard]] bool WasReliableSince(Time when) const noexcept {
    return IsWithinMargin() && when >= unreliable_until_;
  }

 private:
  [[nodiscard]] bool IsWithinMargin() const noexcept { return rate_ >= kSlowest; }
  void Settle(Time now) noexcept {
    local_ = At(now);
    since_ = now;
  }

  TimePoint local_;
  Time since_{};
  std::int64_t rate_ = kTrue;
  Time unreliable_until_{};
};

}  // namespace doclock::simulation
