#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "doclock/store/store.h"
#include "engine/calls/failure.h"
#include "engine/calls/store_calls.h"

namespace doclock::detail {

/// Several store operations, each chosen by the results of the last (settling doubt, trying again):
/// a small state machine that knows no threads, so that blocking and asynchronous callers share it.
class Procedure {
 public:
  /// What to do next.
  struct Step {
    StoreOp* op = nullptr;             ///< Execute this.
    std::chrono::nanoseconds pause{};  ///< Wait this long first.
    CommitOp* commit = nullptr;        ///< Or these, all or none.
    /// `op` is a read that does not go with the writes, if the store reads apart.
    bool reads_apart = false;

    [[nodiscard]] bool IsEnd() const noexcept { return op == nullptr && commit == nullptr; }
  };

  Procedure() = default;
  Procedure(const Procedure&) = delete;
  Procedure& operator=(const Procedure&) = delete;
  virtual ~Procedure() = default;

  /// Returns the next step. Called at first, and after each step's operation was executed.
  virtual Step Next() = 0;

  /// Was an operation executed, or will one be?
  [[nodiscard]] bool begun() const noexcept { return begun_; }

 private:
  friend void Run(StoreCalls&, Procedure&);
  friend class AsyncRun;
  bool begun_ = false;
};

/// Runs it on the caller's thread. If this throws, the procedure has not begun.
void Run(StoreCalls& calls, Procedure& procedure);
/// Runs it on workers; `done` is called once at the end, on one of them. If this throws, the
/// procedure has not begun, and `done` is not called. `done` must not throw.
void RunAsync(StoreCalls& calls, std::shared_ptr<Procedure> procedure, std::function<void()> done);

/// Runs several, the first operation of each in one call, which this thread makes; the rest goes as
/// by RunAsync, and `done` is called with the place of each that has ended. One whose document
/// another client's transaction keeps ends there. If this throws, nothing was sent, and `done` is
/// not called.
void RunTogether(StoreCalls& calls, std::span<const std::shared_ptr<Procedure>> procedures,
                 const std::function<void(std::size_t)>& done);

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

}  // namespace doclock::detail
