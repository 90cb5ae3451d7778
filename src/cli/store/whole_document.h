#pragma once

#include <string>

#include "doclock/document.h"
#include "doclock/lock_manager.h"
#include "doclock/options.h"

namespace doclock::cli {

// Writes of a whole document under its lock. The stored body need not be readable, because nothing
// of it stays. Each returns whether it could be read, and throws as Lock and the verbs of Locked
// do.

/// Locks the document, creating it if it is missing; replaces it and unlocks, in one write.
[[nodiscard]] bool ReplaceWhole(const LockManager& manager, const std::string& collection,
                                const Key& key, const Body& body, const LockOptions& options);

/// Locks the document and deletes it.
[[nodiscard]] bool EraseWhole(const LockManager& manager, const std::string& collection,
                              const Key& key, const LockOptions& options);

}  // namespace doclock::cli
