#pragma once

#include <optional>
#include <string>

#include "cli/commands/documents/documents.h"
#include "cli/commands/events.h"
#include "cli/commands/list.h"
#include "cli/commands/locks.h"
#include "cli/commands/outbox.h"
#include "cli/commands/run.h"
#include "cli/commands/top.h"
#include "cli/commands/transfer.h"
#include "cli/commands/work.h"
#include "cli/store/store_url.h"

namespace doclock::cli {

/// The contents of a command line.
struct Arguments {
  std::string command;  ///< "run", "get" and so on; "--version" with --json.
  StoreChoice store;
  std::string collection = kDefaultLockCollection;
  bool json = false;
  RunOptions run;
  DocumentOptions document;
  ListOptions list;
  TransferOptions transfer;
  OutboxOptions outbox;
  WorkArguments work;
  LocksOptions locks;
  EventsOptions events;
  TopOptions top;
};

/// Reads the command line. Reports an error on standard error in one line that names the option;
/// prints help and the version. If it returns nothing, the program ends with `exit_code`.
struct CommandLine {
  std::optional<Arguments> arguments;
  int exit_code = 0;
};
CommandLine ParseCommandLine(int argc, char** argv);

}  // namespace doclock::cli
