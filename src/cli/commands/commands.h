#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doclock/lock_provider.h"
#include "doclock/open_store.h"

namespace doclock::cli {

/// Opens the store. The argument is how long it may wait for a server; none: the store's own time.
using OpenWithin =
    std::function<std::shared_ptr<Store>(std::optional<std::chrono::milliseconds> patience)>;

/// What a command works with, besides its own options.
struct Context {
  std::string collection;  ///< The collection of the locks.
  bool json = false;
  OpenWithin open;                  ///< May be called on another thread.
  std::vector<std::string> behind;  ///< run: the words behind --, its command.

  [[nodiscard]] LockManager manager() const { return LockManager(open({})); }
  [[nodiscard]] LockAdmin admin() const { return LockProvider(manager(), collection).Admin(); }
};

/// Does what a command line asks for, and returns the program's exit code. It checks its options
/// before it opens the store. @throws std::invalid_argument for bad options, BadData, IoError,
/// Unfinished, and what the library throws
using Action = std::function<int(const Context&)>;

/// A command of the program.
struct Command {
  const char* name;
  const char* help;
  /// Only commands that write create what is missing: a misspelt name is an error, not a new lock.
  OpenMode mode;
  /// Adds the command's options and examples, and returns what it does with them.
  Action (*add)(CLI::App& sub);
};

/// All commands, in the order in which --help and completion show them.
extern const std::array<Command, 18> kCommands;

Action AddRun(CLI::App& sub);
Action AddGet(CLI::App& sub);
Action AddPut(CLI::App& sub);
Action AddEdit(CLI::App& sub);
Action AddDelete(CLI::App& sub);
Action AddCollections(CLI::App& sub);
Action AddList(CLI::App& sub);
Action AddExport(CLI::App& sub);
Action AddImport(CLI::App& sub);
Action AddOutbox(CLI::App& sub);
Action AddWork(CLI::App& sub);
Action AddStatus(CLI::App& sub);
Action AddTop(CLI::App& sub);
Action AddRenew(CLI::App& sub);
Action AddRelease(CLI::App& sub);
Action AddPurge(CLI::App& sub);
Action AddBreak(CLI::App& sub);
Action AddDoctor(CLI::App& sub);

/// Prints the version of the program and of what it uses, as JSON. Returns the exit code.
int VersionJson();

}  // namespace doclock::cli
