#include "engine/task_threads.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "platform/fork_generation.h"

namespace doclock::detail {

/// Shared with the threads, because a thread that stops itself outlives its TaskThreads.
struct TaskThreads::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool stopped = false;

  void Run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopped || !tasks.empty(); });
      if (tasks.empty()) return;
      auto task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // what it captured may take the lock when it goes
      lock.lock();
    }
  }
};

TaskThreads::TaskThreads(int threads)
    : queue_(std::make_shared<Queue>()),
      threads_(std::make_unique<std::vector<std::thread>>()),
      fork_generation_(platform::ForkGeneration()) {
  threads_->reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) threads_->emplace_back([queue = queue_] { queue->Run(); });
}

TaskThreads::~TaskThreads() { Stop(); }

void TaskThreads::Post(std::function<void()> task) {
  if (fork_generation_ != platform::ForkGeneration()) return task();
  const std::shared_ptr<Queue> queue = queue_;  // the task may destroy this object
  {
    std::unique_lock lock(queue->mutex);
    if (queue->stopped) {
      lock.unlock();
      return task();
    }
    queue->tasks.push_back(std::move(task));
  }
  queue->changed.notify_one();
}

bool TaskThreads::OnOwnThread() const noexcept {
  for (const auto& thread : *threads_) {
    if (thread.get_id() == std::this_thread::get_id()) return true;
  }
  return false;
}

void TaskThreads::Stop() {
  if (fork_generation_ != platform::ForkGeneration()) {
    static_cast<void>(threads_.release());
    threads_ = std::make_unique<std::vector<std::thread>>();
    return;
  }
  {
    const std::scoped_lock lock(queue_->mutex);
    queue_->stopped = true;
  }
  queue_->changed.notify_all();
  for (auto& thread : *threads_) {
    if (!thread.joinable()) continue;
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

}  // namespace doclock::detail
