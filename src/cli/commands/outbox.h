#pragma once

#include <string>

#include "cli/options/keys.h"
#include "doclock/lock_manager.h"

namespace doclock::cli {

/// `doclock outbox`.
struct OutboxOptions {
  std::string collection;
  KeyText key;           ///< The message to retry or drop.
  bool has_key = false;  ///< Was one given?
  bool retry = false;    ///< One parked message, or without a key all.
  bool drop = false;
  bool json = false;
};

/// Shows the messages that wait and those that are parked, or retries or drops some. Returns the
/// program's exit code.
int ShowOutbox(const LockManager& manager, const OutboxOptions& options);

}  // namespace doclock::cli
