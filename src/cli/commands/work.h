#pragma once

#include <string>

#include "cli/options/keys.h"
#include "doclock/lock_manager.h"

namespace doclock::cli {

/// `doclock work`.
struct WorkArguments {
  std::string collection;
  std::string attempts = "attempts";  ///< The member with the attempts; deeper ones by dots.
  KeyText key;                        ///< The document to retry or drop.
  bool has_key = false;               ///< Was one given?
  bool retry = false;                 ///< One parked document, or without a key all.
  bool drop = false;
  bool json = false;
};

/// Shows how many documents of workers are due, wait and are parked; or retries, or drops, parked
/// ones. Returns the program's exit code.
int ShowWork(const LockManager& manager, const WorkArguments& arguments);

}  // namespace doclock::cli
