#pragma once

#include <optional>
#include <string>

#include "cli/documents.h"
#include "cli/locks.h"
#include "cli/run.h"
#include "cli/store_url.h"

namespace doclock::cli {

/// The contents of a command line.
struct Arguments {
  std::string command;  ///< "run", "get" and so on.
  StoreChoice store;
  std::string collection = kDefaultLockCollection;
  bool json = false;
  RunOptions run;
  DocumentOptions document;
  LocksOptions locks;
};

/// Reads the command line. Reports an error on standard error in one line that names the option;
/// prints help and the version. If it returns nothing, the program ends with `exit_code`.
struct CommandLine {
  std::optional<Arguments> arguments;
  int exit_code = 0;
};
CommandLine ParseCommandLine(int argc, char** argv);

}  // namespace doclock::cli
