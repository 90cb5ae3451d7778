#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace doclock::cli {

/// The command of `doclock run`: a child in a process group of its own, started without a shell.
///
/// It is killed (SIGKILL) when the thread that started it ends without having waited for it, even
/// by kill -9. It inherits the locks' signs of life, so that on SQLite the locks stay held while it
/// or a child of its own lives. If this process has the terminal, and shares it with no pipeline,
/// the command gets it.
class Child {
 public:
  /// Starts it. `environment` is added to this process's own, in place of what has the same names.
  /// SIGTTOU must be blocked here.
  /// @param signal_mask what the command is to block
  /// @throws CannotExecute
  Child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
        const sigset_t& signal_mask);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Takes the terminal back.
  ~Child();

  /// The command cannot be executed.
  struct CannotExecute {
    int error;  ///< errno
  };

  /// Sends a signal to its whole group.
  void Signal(int number) const noexcept;
  /// Reaps whatever has ended, ours or (as process 1) not. Returns the command's wait status once
  /// it has ended. A command that stopped stops this process too, and goes on with it.
  std::optional<int> Reap();

 private:
  void Stopped();

  pid_t pid_ = -1;
  bool has_terminal_ = false;
};

}  // namespace doclock::cli
