#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "process/eventually.h"
#include "process/temp_folder.h"

namespace doclock::cli_test {

/// The exit code of a program, and its output.
struct Ended {
  int code = -1;  ///< Its exit code, or 128 and the signal's number.
  std::string out, err;
};

/// A program as another process, in a session of its own. Killed with the object.
class Program {
 public:
  /// @param environment variables in the form NAME=VALUE, added to this process's own.
  explicit Program(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment = {}, const std::string& input = "");
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void Signal(int number) const;
  /// Waits for its end, a minute at most.
  Ended Wait();
  /// Has it ended?
  [[nodiscard]] bool IsOver();

 private:
  void Collect(int status);

  test::TempFolder folder_;
  pid_t pid_ = -1;
  Ended ended_;
};

/// Names its files as a command line does.
class Folder : public test::TempFolder {
 public:
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path() / name).string();
  }
};

std::string TextOf(const std::filesystem::path& file);
std::vector<std::string> Lines(const std::string& text);

void ShortPause();

using test::Eventually;

}  // namespace doclock::cli_test
