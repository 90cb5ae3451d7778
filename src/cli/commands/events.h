#pragma once

#include <string>

#include "doclock/lock_manager.h"

namespace doclock::cli {

/// `doclock events`.
struct EventsOptions {
  std::string collection;
  std::string prefix;   ///< Only names with this prefix; empty: all.
  bool follow = false;  ///< Go on until interrupted.
  Duration interval = std::chrono::milliseconds(500);
  bool json = false;
};

/// Prints what happens to locks. Returns the program's exit code.
int Events(const LockManager& manager, const EventsOptions& options);

}  // namespace doclock::cli
