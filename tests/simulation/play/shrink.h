#pragma once

#include <functional>

#include "simulation/play/plan.h"

namespace doclock::simulation {

/// Leaves out operations, faults and processes as long as the rest still fails. `fails` plays a
/// plan; it is called `most` times at most.
Plan Shrink(Plan plan, const std::function<bool(const Plan&)>& fails, int most = 400);

}  // namespace doclock::simulation
