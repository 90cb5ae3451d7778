#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/keys.h"
#include "doclock/lock_manager.h"

namespace doclock::cli {

/// The options of `get`, `put` and `edit`.
struct DocumentOptions {
  std::string collection;
  KeyText key;
  std::string file = "-";  ///< put: where the JSON is; "-": standard input.
  std::string editor;      ///< edit: instead of $VISUAL, $EDITOR, vi.
  Duration wait;
  Duration ttl = std::chrono::seconds(30);
  bool compact = false;  ///< get: on one line.
};

/// Prints the document. Returns the program's exit code, as the others do.
int Get(const LockManager& manager, const DocumentOptions& options);
/// Locks the document (creating it if it is missing), replaces it and unlocks, in one write.
/// @param open opens the store; called when the body has been read
int Put(const std::function<std::shared_ptr<Store>()>& open, const DocumentOptions& options);
/// Locks the document while it is edited.
int Edit(const LockManager& manager, const DocumentOptions& options);

}  // namespace doclock::cli
