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

  /// Runs a task soon. After Stop, it starts one thread at a time for the tasks that still come. In
  /// a forked child, and if no thread can be started, it runs the task at once on the caller's
  /// thread.
  void Post(std::function<void()> task);
  /// Is the caller one of these threads?
  [[nodiscard]] bool OnOwnThread() const noexcept;
  /// Runs what is queued and ends the threads. Waits for `timeout` at most (none: forever). Threads
  /// that are in a task then are left behind, and end by themselves after the queued tasks. So does
  /// a thread that calls Stop on its own TaskThreads.
  void Stop(std::optional<std::chrono::nanoseconds> timeout = std::nullopt);

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
