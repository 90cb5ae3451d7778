#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "doclock/worker.h"

namespace doclock::test {

/// What the worker of the helper program works on.
struct Charge {
  std::string id;
  int steps = 0;
  Attempts attempts = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Charge, id, steps, attempts)

}  // namespace doclock::test
