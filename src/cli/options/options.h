#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "cli/options/durations.h"
#include "doclock/options.h"

/// @file
/// Options whose values are checked. An error names the option and says what is allowed.

namespace doclock::cli {

/// The longest owner or group, in bytes.
inline constexpr std::size_t kMaxOwnerBytes = 256;
inline constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
/// How often a command may look again.
inline constexpr DurationRange kIntervals{std::chrono::milliseconds(100), std::chrono::hours(24)};

/// What is wrong with a text of at most so many bytes; empty: nothing.
std::string TextFault(const std::string& text, std::size_t longest);

/// Adds an option (or, without hyphens, a positional argument) for a text.
CLI::Option* AddText(CLI::App& app, const std::string& name, std::string& where,
                     const std::string& help, std::size_t longest);
/// Adds an option for a value that its own parser checks.
CLI::Option* AddAnything(CLI::App& app, const std::string& name, std::string& where,
                         const std::string& help, const std::string& type);
CLI::Option* AddDuration(CLI::App& app, const std::string& name, Duration& where,
                         const std::string& help, const DurationRange& range = {});
CLI::Option* AddNumber(CLI::App& app, const std::string& name, std::int64_t& where,
                       const std::string& help, std::int64_t least, std::int64_t most);
CLI::Option* AddCollection(CLI::App& app, const std::string& name, std::string& where,
                           const std::string& help);
/// Adds the argument COLLECTION.
void AddCollectionArgument(CLI::App& app, std::string& where, const std::string& help);
/// Adds --key-type.
CLI::Option* AddKeyType(CLI::App& app, std::string& type);
/// Adds --ttl: the length of a lease.
CLI::Option* AddTtl(CLI::App& app, Duration& where, const std::string& help);
/// Adds --wait and --ttl for the lock of a document.
void AddWaiting(CLI::App& app, LockOptions& lock);

}  // namespace doclock::cli
