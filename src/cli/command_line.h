#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/store/store_url.h"

namespace doclock::cli {

/// The contents of a command line.
struct Arguments {
  const Command* command = nullptr;  ///< Null: --version with --json.
  Action action;
  StoreChoice store;
  std::string collection = kDefaultLockCollection;
  bool json = false;
  std::vector<std::string> behind;  ///< run: the words behind --.
};

/// Adds all commands and their options, which write into `arguments`.
void AddCommands(CLI::App& app, Arguments& arguments);

/// What a command line says; without arguments the program ends with `exit_code`.
struct CommandLine {
  std::optional<Arguments> arguments;
  int exit_code = 0;
};

/// Reads the command line. Reports an error on standard error in one line that names the option;
/// prints help and the version.
CommandLine ParseCommandLine(int argc, char** argv);

}  // namespace doclock::cli
