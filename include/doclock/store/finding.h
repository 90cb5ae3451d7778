#pragma once

#include <cstdint>
#include <string>

namespace doclock {

/// How urgent a Finding is.
enum class FindingLevel : std::uint8_t {
  kOk,       ///< It works.
  kWarning,  ///< It works, and should be looked at.
  kProblem,  ///< Locks or writes fail, or will soon.
};

/// What Store::Examine found when it looked at one thing. All texts are for people. They hold no
/// body, no lock id and no secret of the store's URL.
struct Finding {
  std::string check;                       ///< The name of what was looked at, as "topology".
  FindingLevel level = FindingLevel::kOk;  ///< Its urgency.
  std::string text;                        ///< What was found.
  std::string advice = {};                 ///< What to do; empty with kOk.
};

}  // namespace doclock
