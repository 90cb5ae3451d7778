#pragma once

#include <string>

#include "doclock/lock_manager.h"

namespace doclock::cli {

/// What `get`, `put` and `edit` are about.
struct DocumentOptions {
  std::string collection;
  std::string key;
  std::string key_type = "string";  ///< string, int, uuid or oid
  std::string file = "-";           ///< put: where the JSON is; "-": standard input.
  std::string editor;               ///< edit: instead of $VISUAL, $EDITOR, vi.
  Duration wait;
  Duration ttl = std::chrono::seconds(30);
  bool compact = false;  ///< get: on one line.
};

/// Prints the document. Returns what the program is to end with, as the others do.
int Get(const LockManager& manager, const DocumentOptions& options);
/// Locks the document (made if it is missing), replaces it and unlocks, in one write.
int Put(const LockManager& manager, const DocumentOptions& options);
/// Locks the document while it is edited.
int Edit(const LockManager& manager, const DocumentOptions& options);

}  // namespace doclock::cli
