#include "simulation/play/report.h"

#include "simulation/play/shrink.h"

namespace doclock::simulation {

std::string ShrunkStory(const Plan& plan, Breakage breakage, const Violation& violation) {
  const Plan shrunk = Shrink(plan, [&](const Plan& smaller) {
    const Outcome outcome = Simulate(smaller, breakage);
    return outcome.violation && outcome.violation->rule == violation.rule;
  });
  const Outcome outcome = Simulate(shrunk, breakage, true);
  std::string text = "seed " + std::to_string(plan.seed) + " breaks the rule \"" + violation.rule +
                     "\": " + violation.what + "\nThe shortest story found, with " +
                     std::to_string(shrunk.operations.size()) + " of " +
                     std::to_string(plan.operations.size()) + " operations and " +
                     std::to_string(shrunk.faults.size()) + " of " +
                     std::to_string(plan.faults.size()) + " faults:\n";
  for (const std::string& line : outcome.story) text += line + "\n";
  return text;
}

}  // namespace doclock::simulation
