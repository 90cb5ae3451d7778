#include <fcntl.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/complete.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/process/leaving.h"
#include "cli/store/driver.h"

namespace doclock::cli {
namespace {

int Dispatch(const Arguments& arguments, const std::string& from_environment) {
  if (arguments.command == nullptr) return VersionJson();
  const StoreUrl chosen = UrlOf(arguments.store, from_environment);
  PrepareDriver(chosen.url);
  // By value: a thread that is left behind may still use it.
  const auto open =
      [chosen, mode = arguments.command->mode](std::optional<std::chrono::milliseconds> patience) {
        return OpenChosen(chosen, mode, patience);
      };
  return arguments.action({arguments.collection, arguments.json, open, arguments.behind});
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

int DispatchAndTell(const Arguments& arguments, const std::string& from_environment) {
  try {
    return Dispatch(arguments, from_environment);
  } catch (const std::invalid_argument& error) {
    Tell(error.what());
    return kUsage;
  } catch (const Error& error) {
    Tell(error);
    return ExitCodeOf(error);
  } catch (const Failure& error) {
    Tell(error.what());
    return error.code;
  } catch (const std::exception& error) {
    Tell(error.what());
    return kInternal;
  }
}

/// Output that did not arrive is an error.
int CheckOutput(int code) {
  std::cout.flush();
  if (std::cout || code != kOk) return code;
  Tell("the output cannot be written");
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
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "__complete") {
    return CheckOutput(Complete(words, HideStoreUrl(argc, argv)));
  }
  const CommandLine line = ParseCommandLine(argc, argv);
  if (!line.arguments) return CheckOutput(line.exit_code);
  const std::string from_environment = HideStoreUrl(argc, argv);
  return CodeToLeaveWith(CheckOutput(DispatchAndTell(*line.arguments, from_environment)));
}

}  // namespace
}  // namespace doclock::cli

int main(int argc, char** argv) { return doclock::cli::Main(argc, argv); }
