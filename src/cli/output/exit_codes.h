#pragma once

#include <stdexcept>
#include <string>

namespace doclock::cli {

/// The program's own exit codes; `run` otherwise exits with the code of its command.
enum ExitCode : int {
  kOk = 0,
  kUsage = 64,         ///< Bad options.
  kBadData = 65,       ///< No JSON, or it cannot be stored.
  kNotFound = 66,      ///< No such document, name or group.
  kUnavailable = 69,   ///< The store could not be reached, or refused; or the outcome is in doubt.
  kInternal = 70,      ///< Anything else.
  kOtherVersion = 73,  ///< The document exists already, or is at another version.
  kIoError = 74,       ///< The output, or a temporary file, could not be written.
  kBusy = 75,          ///< Another client holds the lock (--busy-exit says otherwise).
  kLost = 76,          ///< The lock was lost while it was needed.
  kMendable = 78,      ///< `doctor` found something to mend.
  kUnfinished = 79,    ///< The store failed after some of the output was written.
  kNotExecutable = 126,
  kNoCommand = 127,
  kSignalBase = 128,  ///< Plus the number of the signal that ended the command.
};

/// An error of the program's own, and its exit code.
struct Failure : std::runtime_error {
  Failure(ExitCode exit_code, const std::string& text) : runtime_error(text), code(exit_code) {}
  const ExitCode code;
};

/// A file of the program's own, or its output, cannot be written.
struct IoError : Failure {
  explicit IoError(const std::string& text) : Failure(kIoError, text) {}
};

}  // namespace doclock::cli
