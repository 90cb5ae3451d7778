#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/options/keys.h"
#include "doclock/lock_manager.h"

namespace doclock::cli {

/// The options of `get`, `put`, `edit` and `delete`.
struct DocumentOptions {
  std::string collection;
  KeyText key;
  std::string file = "-";  ///< put: where the JSON is; "-": standard input.
  std::string editor;      ///< edit: instead of $VISUAL, $EDITOR, vi.
  Duration wait;
  Duration ttl = std::chrono::seconds(30);
  bool compact = false;      ///< get: on one line.
  bool full = false;         ///< get: with key, version and lock.
  bool create = false;       ///< put: the document must not exist.
  bool has_version = false;  ///< put, delete: the document must be at `if_version`.
  std::int64_t if_version = 0;
};

/// Prints the document. Returns the program's exit code, as the others do.
int Get(const LockManager& manager, const DocumentOptions& options);
/// Locks the document (creating it if it is missing), replaces it and unlocks, in one write. The
/// stored body need not be readable, unless the document must be at a version.
/// @param open opens the store; called when the body has been read
int Put(const std::function<std::shared_ptr<Store>()>& open, const DocumentOptions& options);
/// Locks the document while it is edited.
int Edit(const LockManager& manager, const DocumentOptions& options);
/// Locks the document and deletes it; its stored body likewise.
int Delete(const LockManager& manager, const DocumentOptions& options);

// Each says so on standard error, and returns the exit code.
int TellMissing(const DocumentOptions& options);
int TellOtherVersion(const DocumentOptions& options, std::optional<std::int64_t> found);

/// Says on standard error what happened to a document whose stored body could not be read.
void TellUnreadable(const DocumentOptions& options, const std::string& what_happened);

}  // namespace doclock::cli
