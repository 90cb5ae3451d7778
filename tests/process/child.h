#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace doclock::test {

/// The helper program as another process. Killed with the object.
class Child {
 public:
  /// @param prefix a program that starts the helper, with its arguments.
  explicit Child(std::vector<std::string> arguments, std::vector<std::string> prefix = {});
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  /// The next line of what it prints; nothing when it has ended, or says nothing for a minute.
  std::optional<std::string> Line();
  /// All that is left, up to its end.
  std::vector<std::string> Rest();
  /// Gives it a line.
  void Say(const std::string& line);
  void Signal(int signal) const;
  /// As `kill -9` does, and waits until the system has buried it.
  void Kill();
  /// Waits for its end.
  int Wait();

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  std::string buffer_;
};

}  // namespace doclock::test
