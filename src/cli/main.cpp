#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "cli/commands/doctor.h"
#include "cli/commands/version.h"
#include "cli/options/command_line.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/output/standard_output.h"
#include "cli/process/leaving.h"
#include "cli/store/driver.h"
#include "cli/store/open_chosen.h"
#include "cli/store/search.h"

namespace doclock::cli {
namespace {

/// Only commands that write create what is missing: a misspelt name is an error, not a new lock.
/// The doctor leaves no trace.
OpenMode ModeFor(const std::string& command) {
  const bool creates = command == "run" || command == "put" || command == "import";
  if (command == "doctor") return OpenMode::kUnchanged;
  return creates ? OpenMode::kAsTheUrlSays : OpenMode::kExisting;
}

/// Completes the options of each command with those of all.
void Share(Arguments& arguments) {
  arguments.run.collection = arguments.collection;
  arguments.locks.collection = arguments.collection;
  arguments.events.collection = arguments.collection;
  arguments.top.collection = arguments.collection;
  arguments.top.json = arguments.json;
  arguments.locks.json = arguments.json;
  arguments.events.json = arguments.json;
  arguments.list.json = arguments.json;
  arguments.transfer.json = arguments.json;
  arguments.outbox.json = arguments.json;
  arguments.work.json = arguments.json;
  arguments.document.compact = arguments.json;
}

/// Runs a command that needs nothing before the store is open.
int DispatchOpen(const LockManager& manager, const Arguments& arguments) {
  const std::string& command = arguments.command;
  if (command == "get") return Get(manager, arguments.document);
  if (command == "edit") return Edit(manager, arguments.document);
  if (command == "delete") return Delete(manager, arguments.document);
  if (command == "collections") return Collections(manager, arguments.json);
  if (command == "list") return List(manager, arguments.list);
  if (command == "export") return Export(manager, arguments.transfer);
  if (command == "outbox") return ShowOutbox(manager, arguments.outbox);
  if (command == "work") return ShowWork(manager, arguments.work);
  if (command == "status") return Status(manager, arguments.locks);
  if (command == "events") return Events(manager, arguments.events);
  if (command == "renew") return Renew(manager, arguments.locks);
  if (command == "release") return Release(manager, arguments.locks);
  if (command == "purge") return Purge(manager, arguments.locks);
  return Break(manager, arguments.locks);
}

int Dispatch(Arguments& arguments, const std::string& from_environment) {
  const std::string& command = arguments.command;
  if (command == "--version") return VersionJson();
  Share(arguments);
  const StoreUrl chosen = UrlOf(arguments.store, from_environment);
  PrepareDriver(chosen.url);
  // By value: a thread that is left behind may still use it.
  const auto within = [chosen,
                       mode = ModeFor(command)](std::optional<std::chrono::milliseconds> patience) {
    return OpenChosen(chosen, mode, patience);
  };
  const auto open = [&] { return within(std::nullopt); };
  if (command == "run") return RunCommand(arguments.run, within);
  if (command == "put") return Put(open, arguments.document);
  if (command == "import") return Import(open, arguments.transfer);
  if (command == "top") return Top(open, arguments.top);
  if (command == "doctor") return Doctor(open, arguments.collection, arguments.json);
  return DispatchOpen(LockManager(open()), arguments);
}

int ExitCodeOf(const Error& error) {
  switch (error.errc()) {
    case Errc::kBusy:
    case Errc::kTimedOut:
      return kBusy;
    case Errc::kLost:
      return kLost;
    case Errc::kNotFound:
    case Errc::kNotOwner:
      return kNotFound;
    case Errc::kDocument:
    case Errc::kConflict:
      return kBadData;
    default:
      return kUnavailable;
  }
}

int DispatchAndTell(Arguments& arguments, const std::string& from_environment) {
  try {
    return Dispatch(arguments, from_environment);
  } catch (const std::invalid_argument& error) {
    Tell(error.what());
    return kUsage;
  } catch (const Error& error) {
    Tell(error);
    return ExitCodeOf(error);
  } catch (const Unfinished& error) {
    Tell(error.what());
    return kUnfinished;
  } catch (const IoError& error) {
    Tell(error.what());
    return kIoError;
  } catch (const std::exception& error) {
    Tell(error.what());
    return kInternal;
  }
}

/// Output that did not arrive is an error.
int CheckOutput(int code, const StandardOutput& output) {
  std::cout.flush();
  if (std::cout || code != kOk) return code;
  const int error = output.error();
  Tell(std::string("the output cannot be written") +
       (error != 0 ? std::string(": ") + std::strerror(error) : ""));
  return kIoError;
}

/// If standard output is closed, a file of the store could get its number, and be written into.
void TakeStandardNumbers() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // For the other direction: using it still fails.
    static_cast<void>(::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

int Main(int argc, char** argv) {
  TakeStandardNumbers();
  const StandardOutput output;
  CommandLine line = ParseCommandLine(argc, argv);
  if (!line.arguments) return CheckOutput(line.exit_code, output);
  const std::string from_environment = HideStoreUrl(argc, argv);
  return CodeToLeaveWith(CheckOutput(DispatchAndTell(*line.arguments, from_environment), output));
}

}  // namespace
}  // namespace doclock::cli

int main(int argc, char** argv) { return doclock::cli::Main(argc, argv); }
