#pragma once

#include <string>

#include "simulation/simulation.h"

namespace doclock::simulation {

/// The shortest story found that breaks the same rule, for people.
std::string ShrunkStory(const Plan& plan, Breakage breakage, const Violation& violation);

}  // namespace doclock::simulation
