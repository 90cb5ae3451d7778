#pragma once

#include <optional>
#include <string>

#include "cli/documents.h"
#include "cli/locks.h"
#include "cli/run.h"
#include "cli/store_url.h"

namespace doclock::cli {

/// What a command line asks for.
struct Arguments {
  std::string command;  ///< "run", "get" and so on.
  StoreChoice store;
  std::string collection = kDefaultLockCollection;
  bool json = false;
  RunOptions run;
  DocumentOptions document;
  LocksOptions locks;
};

/// Reads the command line. What is wrong with it is told on standard error in one line that names
/// the option; help and the version are printed. Nothing: `exit_code` says what to end with.
struct CommandLine {
  std::optional<Arguments> arguments;
  int exit_code = 0;
};
CommandLine ParseCommandLine(int argc, char** argv);

}  // namespace doclock::cli
