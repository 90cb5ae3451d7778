#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/process/terminal.h"

namespace doclock::cli {

/// The command of `doclock run`: a child in a process group of its own, started without a shell.
///
/// It is killed (SIGKILL) when the thread that started it ends without having waited for it, even
/// by kill -9. It inherits the locks' signs of life, so that on SQLite the locks stay held while it
/// or a child of its own lives. If this process has the terminal, the command gets it: at once, or,
/// where it is shared with a pipeline, as soon as the command cannot go on without.
class Child {
 public:
  /// Starts it. `environment` is added to this process's own, in place of what has the same names.
  /// SIGTTOU must be blocked here.
  /// @param signal_mask the signals that the command shall block
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
  /// Asks its group to stop (SIGTSTP). This process stops only once the command has stopped (see
  /// Reap()): a command that ignores the request works on, and its lock needs renewal.
  void StopWithIt() noexcept;
  /// Another program of this process's group was stopped for not having the terminal (SIGTTIN,
  /// SIGTTOU). If the command has it, they go on with it; else all of them stop.
  void ShareTerminal() noexcept;
  /// Lets its group go on (SIGCONT).
  void GoOn() noexcept;
  /// Reaps all children that have ended, also foreign ones (as process 1). Returns the command's
  /// wait status once it has ended. A command that was stopped because it needs the terminal gets
  /// it, if it is this process's to give. Else, and if a command in the foreground was stopped, or
  /// one that was asked to stop, this process stops too.
  /// @param resumed called when this process goes on after that; the command is still stopped
  std::optional<int> Reap(const std::function<void()>& resumed);

 private:
  /// True: the command has the terminal.
  bool Lend() noexcept;
  /// False: the command has not got it.
  bool TakeTerminalBack() noexcept;
  void Stopped();

  Terminal terminal_;
  pid_t pid_ = -1;
  bool foreground_ = false;  ///< Once it had the terminal.
  bool stop_asked_ = false;
};

}  // namespace doclock::cli
