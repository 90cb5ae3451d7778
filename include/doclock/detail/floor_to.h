#pragma once

/// @file
/// Conversions of durations that do not overflow. Not for users.

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <type_traits>

namespace doclock::detail {

/// Holds every product of two 64-bit numbers.
__extension__ using Int128 = __int128;

/// A length in whole units, rounded down.
struct Floored {
  Int128 whole = 0;
  bool rest = false;  ///< Is the length longer than that?
};

/// Rounds down; nothing if that is far beyond 64 bits. A value that differs from a whole number
/// by no more than the precision of Count is that number: so 1.001 s, which is stored as a little
/// less, has 1,001 ms.
template <class Count>
constexpr std::optional<Floored> Floor(long double exact) noexcept {
  constexpr long double kFar = 1e19L;  // Int128 holds its neighbours, too
  if (!(exact > -kFar && exact < kFar)) return std::nullopt;
  const auto nearest = static_cast<Int128>(exact + (exact < 0 ? -0.5L : 0.5L));
  const long double off = exact - static_cast<long double>(nearest);
  const long double precision = exact * std::numeric_limits<Count>::epsilon();
  const bool rest = off * off > precision * precision;
  return Floored{nearest - (rest && off < 0 ? 1 : 0), rest};
}

/// `length` in whole units of Period, rounded down; nothing if that is far beyond 64 bits.
template <class Period, class Count, class Unit>
constexpr std::optional<Floored> FloorIn(
    const std::chrono::duration<Count, Unit>& length) noexcept {
  using Ratio = std::ratio_divide<Unit, Period>;
  if constexpr (std::is_floating_point_v<Count>) {
    return Floor<Count>(static_cast<long double>(length.count()) * Ratio::num / Ratio::den);
  } else {
    // Quotient and rest apart: nothing overflows on the way to a result that fits. The traits of
    // the standard library do not know integers of 128 bits.
    using Narrow = std::conditional_t<std::is_unsigned_v<Count>, std::uint64_t, std::int64_t>;
    using Wide = std::conditional_t<(sizeof(Count) > sizeof(Narrow)), Count, Narrow>;
    constexpr auto kDen = static_cast<Wide>(Ratio::den);
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    const auto count = static_cast<Wide>(length.count());
    const bool down = count % kDen < 0;
    const auto whole = static_cast<Wide>(count / kDen - (down ? 1 : 0));
    if (count < 0 ? whole < static_cast<Wide>(kMin) : whole > static_cast<Wide>(kMax)) {
      return std::nullopt;
    }
    const Int128 rest = static_cast<Int128>(count % kDen + (down ? kDen : 0)) * Ratio::num;
    const Int128 scaled = static_cast<Int128>(whole) * Ratio::num + rest / Ratio::den;
    return Floored{scaled, rest % Ratio::den != 0};
  }
}

/// `length` in whole units of To, rounded down; nothing if To cannot hold that.
template <class To, class Count, class Unit>
constexpr std::optional<To> FloorTo(const std::chrono::duration<Count, Unit>& length) noexcept {
  using Rep = typename To::rep;
  if constexpr (std::is_floating_point_v<Rep>) {
    using Ratio = std::ratio_divide<Unit, typename To::period>;
    return To(static_cast<Rep>(static_cast<long double>(length.count()) * Ratio::num / Ratio::den));
  } else {
    const auto floored = FloorIn<typename To::period>(length);
    if (!floored) return std::nullopt;
    const auto count = static_cast<Rep>(floored->whole);
    const bool fits =
        static_cast<Int128>(count) == floored->whole && (count < 0) == (floored->whole < 0);
    return fits ? std::optional<To>(To(count)) : std::nullopt;
  }
}

}  // namespace doclock::detail
