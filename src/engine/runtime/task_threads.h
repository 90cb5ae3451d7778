#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace doclock::detail {

/// Threads that run tasks from one queue, in order. Thread-safe.
class TaskThreads {
 public:
  /// @throws std::system_error if one of them cannot start.
  explicit TaskThreads(int threads);
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;
  ~TaskThreads();

  /// Runs a task soon. After Stop too: then one thread at a time is started for what comes. At
  /// once, on the caller's thread, in a forked child and where no thread can be started.
  void Post(std::function<void()> task);
  /// Is the caller one of these threads?
  [[nodiscard]] bool OnOwnThread() const noexcept;
  /// Runs what is queued and ends. Waits for `patience` at most (none: for ever); threads that are
  /// in a task then are left behind: they end by themselves, after what is queued. So does a
  /// thread that calls this on itself.
  void Stop(std::optional<std::chrono::nanoseconds> patience = std::nullopt);

 private:
  struct Queue;
  // These need the queue's lock.
  void StartThread();
  void JoinAll();

  std::shared_ptr<Queue> queue_;
  /// On the heap, because a forked child, where these threads do not exist, can neither join nor
  /// destroy them: it leaves them be.
  /// Guarded by the queue's mutex.
  std::unique_ptr<std::vector<std::thread>> threads_;
  const std::uint32_t fork_generation_;
};

/// Is the caller a thread of any TaskThreads?
[[nodiscard]] bool OnTaskThread() noexcept;

}  // namespace doclock::detail
