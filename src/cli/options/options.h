#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/options/durations.h"
#include "cli/options/keys.h"

/// @file
/// Options whose values are checked. An error names the option and says what is allowed.

namespace doclock::cli {

/// What is wrong with a text of at most so many bytes; empty: nothing.
std::string TextFault(const std::string& text, std::size_t longest);

/// Adds an option (or, without hyphens, a positional argument) for a text.
CLI::Option* AddText(CLI::App* app, const std::string& name, std::string& where,
                     const std::string& help, std::size_t longest);
/// Adds an option for a value that its own parser checks.
CLI::Option* AddAnything(CLI::App* app, const std::string& name, std::string& where,
                         const std::string& help, const std::string& type);
CLI::Option* AddDuration(CLI::App* app, const std::string& name, Duration& where,
                         const std::string& help, const DurationRange& range = {});
CLI::Option* AddNumber(CLI::App* app, const std::string& name, std::int64_t& where,
                       const std::string& help, std::int64_t least, std::int64_t most);
CLI::Option* AddCollection(CLI::App* app, const std::string& name, std::string& where,
                           const std::string& help);
/// Adds --key-type.
void AddKeyType(CLI::App* app, KeyText& key);
/// The same, where the type may be left open.
void AddKeyType(CLI::App* app, std::optional<std::string>& type);
/// Adds --ttl: the length of a lease.
CLI::Option* AddTtl(CLI::App* app, Duration& where, const std::string& help);

}  // namespace doclock::cli
