#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace doclock::simulation {

/// A function with a stack of its own, which may stop in the middle and go on later.
class Fiber;

/// Fibers on one thread: exactly one runs at a time, and only Suspend changes to another.
class Fibers {
 public:
  Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers();

  /// Runs the task on a fiber until its end or its first Suspend. Not called inside a fiber. The
  /// task must not throw.
  void Start(std::function<void()> task);
  /// Runs a suspended fiber until its end or its next Suspend. Not called inside a fiber.
  void Resume(Fiber& fiber);
  /// Stops the running fiber until Resume.
  void Suspend();
  /// The running fiber; null outside of fibers.
  [[nodiscard]] Fiber* current() const noexcept { return current_; }
  /// How many have begun and not ended.
  [[nodiscard]] int running() const noexcept { return running_; }

 private:
  friend class Fiber;
  void SwitchTo(Fiber& fiber);

  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
  Fiber* current_ = nullptr;
  int running_ = 0;
};

}  // namespace doclock::simulation
