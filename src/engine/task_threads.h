#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace doclock::detail {

/// Threads that run tasks from one queue, in order. Thread-safe.
class TaskThreads {
 public:
  explicit TaskThreads(int threads);
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;
  ~TaskThreads();

  /// Runs a task soon; at once, on the caller's thread, after Stop and in a forked child.
  void Post(std::function<void()> task);
  /// Is the caller one of these threads?
  [[nodiscard]] bool OnOwnThread() const noexcept;
  /// Runs what is queued and ends. A thread that calls this on itself ends after its task.
  void Stop();

 private:
  struct Queue;
  std::shared_ptr<Queue> queue_;
  /// On the heap, because a forked child, where these threads do not exist, can neither join nor
  /// destroy them: it leaves them be.
  std::unique_ptr<std::vector<std::thread>> threads_;
  const std::uint32_t fork_generation_;
};

}  // namespace doclock::detail
