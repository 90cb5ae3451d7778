#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "cli/command_line.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "cli/store_url.h"
#include "doclock/open_store.h"
#ifdef DOCLOCK_CLI_SILENCES_LIBMONGOC
#include <mongoc/mongoc.h>
#endif

namespace doclock::cli {
namespace {

/// Only commands that write create what is missing: a misspelt name is an error, not a new lock.
OpenMode ModeFor(const std::string& command) {
  return command == "run" || command == "put" ? OpenMode::kAsTheUrlSays : OpenMode::kExisting;
}

std::shared_ptr<Store> OpenChosen(const Arguments& arguments, const std::string& from_environment) {
  const StoreUrl chosen = UrlOf(arguments.store, from_environment);
  CheckShared(chosen);
  try {
    return OpenStore(chosen.url, ModeFor(arguments.command));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(chosen.source + ": " + error.what());
  }
}

int Dispatch(Arguments& arguments, const std::string& from_environment) {
  const std::string& command = arguments.command;
  const auto open = [&] { return OpenChosen(arguments, from_environment); };
  if (command == "run") {
    arguments.run.collection = arguments.collection;
    return RunCommand(arguments.run, open);
  }
  arguments.locks.collection = arguments.collection;
  arguments.locks.json = arguments.json;
  arguments.document.compact = arguments.json;
  if (command == "put") return Put(open, arguments.document);
  const LockManager manager(open());
  if (command == "get") return Get(manager, arguments.document);
  if (command == "edit") return Edit(manager, arguments.document);
  if (command == "status") return Status(manager, arguments.locks);
  if (command == "renew") return Renew(manager, arguments.locks);
  if (command == "release") return Release(manager, arguments.locks);
  if (command == "purge") return Purge(manager, arguments.locks);
  return Break(manager, arguments.locks);
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
  } catch (const IoError& error) {
    Tell(error.what());
    return kIoError;
  } catch (const std::exception& error) {
    Tell(error.what());
    return kInternal;
  }
}

/// Output that did not arrive is an error.
int CheckOutput(int code) {
  errno = 0;
  std::cout.flush();
  if (std::cout || code != kOk) return code;
  Tell(std::string("the output cannot be written") +
       (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
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

/// libmongoc writes its log to standard output, which belongs to the command. Problems that matter
/// are reported as errors.
void SilenceDriver() {
#ifdef DOCLOCK_CLI_SILENCES_LIBMONGOC
  mongoc_log_set_handler(nullptr, nullptr);
#endif
}

int Main(int argc, char** argv) {
  TakeStandardNumbers();
  SilenceDriver();
  CommandLine line = ParseCommandLine(argc, argv);
  if (!line.arguments) return CheckOutput(line.exit_code);
  const std::string from_environment = HideStoreUrl(argc, argv);
  return CheckOutput(DispatchAndTell(*line.arguments, from_environment));
}

}  // namespace
}  // namespace doclock::cli

int main(int argc, char** argv) { return doclock::cli::Main(argc, argv); }
