#pragma once

#include <sys/types.h>

namespace doclock::cli {

/// The controlling terminal, if there is one; else no group has it.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Is this process group its foreground? Also of a group that has ended.
  [[nodiscard]] bool IsOf(pid_t group) const noexcept;
  /// Makes this process group its foreground. SIGTTOU must be blocked.
  void Give(pid_t group) const noexcept;

 private:
  int descriptor_;
};

}  // namespace doclock::cli
