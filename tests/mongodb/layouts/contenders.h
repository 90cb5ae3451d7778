#pragma once

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <string>

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

}  // namespace doclock::mongo_test
