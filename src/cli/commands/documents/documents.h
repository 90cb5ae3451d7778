#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/options/keys.h"
#include "doclock/options.h"

namespace doclock::cli {

/// The options that `get`, `put`, `edit` and `delete` have in common.
struct DocumentOptions {
  std::string collection;
  KeyText key;
  LockOptions lock{.ttl = std::chrono::seconds(30)};
  std::int64_t if_version = -1;  ///< put, delete: the document must be at it; -1: at any.
};

/// Adds COLLECTION, KEY and --key-type.
void AddDocument(CLI::App& sub, DocumentOptions& document);
/// Adds --if-version, which excludes the options of a lock.
CLI::Option* AddIfVersion(CLI::App& sub, DocumentOptions& document, const std::string& help);

// Each says so on standard error, and returns the exit code.
int TellMissing(const DocumentOptions& options);
int TellOtherVersion(const DocumentOptions& options, std::optional<std::int64_t> found);

/// Says on standard error what happened to a document whose stored body could not be read.
void TellUnreadable(const DocumentOptions& options, const std::string& what_happened);

}  // namespace doclock::cli
