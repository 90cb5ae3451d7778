#pragma once

#include <optional>
#include <set>
#include <string>

#include "doclock/store/store.h"
#include "simulation/database/member.h"

namespace doclock::simulation {

/// The queues that the database keeps of the waiters of all processes. Checks each change against
/// the one before it, by what was requested and by what is stored.
class StoreQueues {
 public:
  /// A request reaches the primary.
  void OnRequest(const StoreOp& op);

  struct Fault {
    std::string rule;
    std::string what;
  };
  /// The rule that a change breaks, if there is one.
  [[nodiscard]] std::optional<Fault> FaultOf(const Change& change) const;

 private:
  std::set<Uuid> asked_;  ///< Ids of attempts and hand-overs.
  std::set<Uuid> left_;   ///< Ids whose entries clients have removed.
};

}  // namespace doclock::simulation
