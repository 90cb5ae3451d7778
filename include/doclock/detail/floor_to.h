#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <type_traits>
#include <utility>

/// @file
/// A conversion of durations that does not overflow. Not for users.

namespace doclock::detail {

/// `length` in whole units of To, rounded down; nothing if To cannot hold that.
template <class To, class Count, class Unit>
constexpr std::optional<To> FloorTo(const std::chrono::duration<Count, Unit>& length) noexcept {
  using Ratio = std::ratio_divide<Unit, typename To::period>;
  using Rep = typename To::rep;
  if constexpr (std::is_floating_point_v<Rep> || std::is_floating_point_v<Count>) {
    const long double exact = static_cast<long double>(length.count()) * Ratio::num / Ratio::den;
    if constexpr (std::is_floating_point_v<Rep>) {
      return To(static_cast<Rep>(exact));
    } else {
      using Limits = std::numeric_limits<Rep>;
      const bool fits = exact >= static_cast<long double>(Limits::min()) &&
                        exact < static_cast<long double>(Limits::max()) + 1;
      if (!fits) return std::nullopt;
      const auto whole = static_cast<Rep>(exact);
      return To(static_cast<long double>(whole) > exact ? static_cast<Rep>(whole - 1) : whole);
    }
  } else {
    // Quotient and rest apart: nothing overflows on the way to a result that fits.
    using Wide = std::conditional_t<std::is_signed_v<Count>, std::int64_t, std::uint64_t>;
    constexpr auto kDen = static_cast<Wide>(Ratio::den);
    const auto count = static_cast<Wide>(length.count());
    const bool down = count % kDen < 0;
    const Wide whole = count / kDen - (down ? 1 : 0);
    const auto rest = static_cast<std::int64_t>(count % kDen + (down ? kDen : 0));
    std::int64_t scaled = 0;
    if (!std::in_range<std::int64_t>(whole) ||
        __builtin_mul_overflow(static_cast<std::int64_t>(whole), Ratio::num, &scaled) ||
        __builtin_add_overflow(scaled, rest * Ratio::num / Ratio::den, &scaled) ||
        !std::in_range<Rep>(scaled)) {
      return std::nullopt;
    }
    return To(static_cast<Rep>(scaled));
  }
}

}  // namespace doclock::detail
