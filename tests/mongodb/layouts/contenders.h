#pragma once

#include <signal.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "mongodb/layouts/history.h"
#include "process/child.h"

namespace doclock::mongo_test {

/// A process that contends for a lock: "contend" is doclock, "peer" the other library of the
/// layout. That one is a re-creation, unless the variable DOCLOCK_TEST_PEER_<LAYOUT> names a
/// program with the real one. It is started with the helper's path and arguments (see ReadContest),
/// and tells what ContendAsPeer tells.
inline test::Child Contender(const std::string& kind, const std::string& layout,
                             const std::string& server, const std::string& database, int workers,
                             std::chrono::milliseconds ttl, std::chrono::milliseconds hold,
                             std::chrono::milliseconds rest) {
  const auto text = [](std::chrono::milliseconds time) { return std::to_string(time.count()); };
  std::string variable = "DOCLOCK_TEST_PEER_" + layout;
  std::transform(variable.begin(), variable.end(), variable.begin(), ::toupper);
  const char* const real = kind == "peer" ? std::getenv(variable.c_str()) : nullptr;
  return test::Child({kind, server, database, "job", std::to_string(workers), text(ttl), text(hold),
                      text(rest), layout},
                     real == nullptr ? std::vector<std::string>() : std::vector<std::string>{real});
}

/// What it tells of its first two holds: it gets somewhere. (A waiter may pause for long.)
inline std::vector<std::string> TwoHolds(test::Child& child) {
  std::vector<std::string> lines;
  while (lines.size() < 4) {
    const auto line = child.Line();
    if (!line) throw std::runtime_error("it got nowhere");
    lines.push_back(*line);
  }
  return lines;
}

/// Kills them, and returns the holds of each. @param told what was read of each before
inline std::vector<std::vector<Hold>> KilledHolds(std::vector<test::Child>& children,
                                                  std::vector<std::vector<std::string>> told) {
  for (const test::Child& child : children) child.Signal(SIGKILL);
  std::vector<std::vector<Hold>> holds;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const auto rest = children[i].Rest();
    told[i].insert(told[i].end(), rest.begin(), rest.end());
    holds.push_back(HoldsIn(told[i], "a process"));
  }
  return holds;
}

}  // namespace doclock::mongo_test
