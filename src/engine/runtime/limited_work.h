#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "doclock/lock_manager.h"

namespace doclock::detail {

/// Runs unbatched tasks that may block in the store on workers: at most `most` at once, begun in
/// order of arrival, so that workers are left for the batcher, which sends the renewals.
/// Thread-safe.
class LimitedWork : public std::enable_shared_from_this<LimitedWork> {
 public:
  LimitedWork(Runtime& runtime, int most) : runtime_(runtime), most_(most) {}

  [[nodiscard]] int most() const noexcept { return most_; }
  /// Runs the task on a worker once its turn has come.
  void Run(std::function<void()> task);

 private:
  /// One task at a time: batches that wait for a worker get their turn between two.
  void StartWorker() noexcept;
  /// True: another task waits, and the caller's place is kept for it.
  bool RunNext() noexcept;

  Runtime& runtime_;
  const int most_;
  std::mutex mutex_;  ///< Guards what follows.
  std::deque<std::function<void()>> waiting_;
  int workers_ = 0;
};

}  // namespace doclock::detail
