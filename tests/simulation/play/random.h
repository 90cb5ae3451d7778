#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace doclock::simulation {

/// Random numbers that are the same on every machine (SplitMix64; the standard library's
/// distributions differ).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t Next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// 0 to `n` - 1.
  std::uint64_t Below(std::uint64_t n) noexcept { return Next() % n; }
  /// From `low` to `high`, both included.
  template <class Number>
  Number Between(Number low, Number high) noexcept {
    const auto span = static_cast<std::uint64_t>((high - low) / Number(1)) + 1;
    return low + Number(1) * static_cast<std::int64_t>(Below(span));
  }
  bool Chance(std::uint64_t per_mille) noexcept { return Below(1000) < per_mille; }
  template <class Container>
  const auto& Pick(const Container& all) noexcept {
    return all[Below(all.size())];
  }

 private:
  std::uint64_t state_;
};

/// A number that depends on both.
inline std::uint64_t Mix(std::uint64_t a, std::uint64_t b) noexcept {
  return Random(a ^ Random(b).Next()).Next();
}

/// FNV-1a: std::hash differs between libraries.
inline std::uint64_t HashOf(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace doclock::simulation
