#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "simulation/database/breakage.h"

namespace doclock::simulation {

/// A seed that finds a defect which the library had.
struct PinnedSeed {
  std::uint64_t seed;
  std::string_view found;
  Breakage brings_back;   ///< Makes the same defect again,
  std::string_view rule;  ///< which breaks this rule.
};

/// A change of what a seed means (play/plan.cpp) needs other seeds: the test of these says so.
inline constexpr std::array kPinnedSeeds = {
    PinnedSeed{1, "Callers of one process that took turns were handed a lock without end.",
               Breakage::kHandsOverForEver, "other processes get their turn"},
    PinnedSeed{48, "A search on a deposed primary showed writes that were rolled back later.",
               Breakage::kSearchesUnsure, "reads see what was written"},
};

}  // namespace doclock::simulation
