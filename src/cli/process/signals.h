#pragma once

#include <signal.h>

#include <optional>

namespace doclock::cli {

/// The signals that `run` handles, as a descriptor to poll: all but those that this program was
/// started to ignore, as by nohup. They, and SIGPIPE, are blocked from the construction on, in all
/// threads that start later, and are not unblocked again.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The next pending signal, if any.
  std::optional<int> Next() noexcept;
  /// The signals that were blocked before.
  [[nodiscard]] const sigset_t& former_mask() const noexcept { return former_; }

 private:
  sigset_t former_{};
  int descriptor_ = -1;
};

/// Would this signal stop a program that does not handle it?
bool StopsPrograms(int number) noexcept;
/// Would this signal end a program that does not handle it?
bool EndsPrograms(int number) noexcept;

/// Does it ask a program to end? Others that end programs have a meaning of the program's own.
bool AsksToEnd(int number) noexcept;

/// Wakes a poll() from another thread.
class Wakeup {
 public:
  Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;
  ~Wakeup();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  void Set() const noexcept;
  void Clear() const noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace doclock::cli
