#pragma once

#include <CLI/CLI.hpp>

#include "cli/options/command_line.h"

namespace doclock::cli {

/// Adds all commands and their options, which write into `arguments`.
void AddCommands(CLI::App& app, Arguments& arguments);

}  // namespace doclock::cli
