#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "doclock/detail/engine.h"
#include "doclock/store.h"
#include "document/failure.h"

namespace doclock::detail {

/// Store operations with what follows from their answers (settling doubt, trying again): a small
/// state machine that knows no threads, so that blocking and asynchronous callers share it.
class Procedure {
 public:
  /// What to do next.
  struct Step {
    StoreOp* op = nullptr;             ///< Execute this; null: finished.
    std::chrono::nanoseconds pause{};  ///< Wait so long first.
  };

  Procedure() = default;
  Procedure(const Procedure&) = delete;
  Procedure& operator=(const Procedure&) = delete;
  virtual ~Procedure() = default;

  /// Called at first, and after each step's operation was executed.
  virtual Step Next() = 0;
  /// Called in place of Next when memory ran out after the first operation was executed: no more
  /// of them will be. The operation asked for last may be pending.
  virtual void Interrupt() noexcept = 0;

  /// Was an operation executed, or is it going to be?
  [[nodiscard]] bool begun() const noexcept { return begun_; }

 private:
  friend void Run(Engine&, Procedure&);
  friend class AsyncRun;
  bool begun_ = false;
};

/// Runs it on the caller's thread. Throws only while it has not begun.
void Run(Engine& engine, Procedure& procedure);
/// Runs it on workers; `done` is called once at the end, on one of them. Where this throws, the
/// procedure has not begun, and `done` is not called. `done` must not throw.
void RunAsync(const EnginePtr& engine, std::shared_ptr<Procedure> procedure,
              std::function<void()> done);

/// Pauses between attempts to settle doubt: 5 ms, doubling, at most 500 ms.
class Backoff {
 public:
  std::chrono::nanoseconds Next() noexcept {
    const auto pause = next_;
    next_ = std::min<std::chrono::nanoseconds>(next_ * 2, std::chrono::milliseconds(500));
    return pause;
  }

 private:
  std::chrono::nanoseconds next_ = std::chrono::milliseconds(5);
};

/// The version that a proven write left, where the store's own answer was lost. A look that comes
/// later does not tell: others may have locked and written since. `expected`: the version the write
/// was made at; 0 for an insert. Should a store raise versions by more, this one is too low, and
/// the next write by it is refused: it never overwrites.
constexpr std::int64_t VersionAfter(std::int64_t expected) noexcept { return expected + 1; }

/// What an operation that did not end well means to the caller.
FailurePtr FailureOf(const StoreOp& op) noexcept;

}  // namespace doclock::detail
