#pragma once

#include <signal.h>

#include <optional>

namespace doclock::cli {

/// The signals that `run` looks after, as a descriptor to poll: all but those that this program was
/// started to ignore, as by nohup. They are blocked from its making
/// on, in all threads that are made later, and not let through again.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The next one that has come, if any.
  std::optional<int> Next() noexcept;
  /// What was blocked before.
  [[nodiscard]] const sigset_t& former_mask() const noexcept { return former_; }

 private:
  sigset_t former_{};
  int descriptor_ = -1;
};

/// Would this signal end a program that does not look after it?
bool EndsPrograms(int number) noexcept;

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
