#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/database/breakage.h"
#include "simulation/invariants/invariants.h"
#include "simulation/play/plan.h"

namespace doclock::simulation {

/// What came of one run.
struct Outcome {
  std::optional<Violation> violation;
  std::vector<std::string> story;  ///< If it was wanted.
  std::uint64_t events = 0;
  std::uint64_t writes = 0;
  std::uint64_t trace = 0;  ///< The same for the same run.
};

/// Plays a plan from its beginning to its end. The same plan gives the same outcome.
Outcome Simulate(const Plan& plan, Breakage breakage = Breakage::kNone, bool told = false);

}  // namespace doclock::simulation
