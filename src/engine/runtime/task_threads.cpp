#include "engine/runtime/task_threads.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "platform/fork_generation.h"

namespace doclock::detail {
namespace {

/// The queue whose tasks the current thread runs.
thread_local const void* queue_of_this_thread = nullptr;

}  // namespace

/// Shared with the threads, because a thread that is left behind outlives its TaskThreads.
struct TaskThreads::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable ended;
  std::deque<std::function<void()>> tasks;
  int threads = 0;  ///< In Run, or about to be.
  bool stopped = false;

  void Run() {
    const void* const before = std::exchange(queue_of_this_thread, this);
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopped || !tasks.empty(); });
      if (tasks.empty()) break;
      auto task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // what it captured may take the lock when it goes
      lock.lock();
    }
    queue_of_this_thread = before;
    --threads;
    ended.notify_all();
  }
};

void TaskThreads::StartThread() {
  threads_->emplace_back([queue = queue_] { queue->Run(); });
  ++queue_->threads;
}

TaskThreads::TaskThreads(int threads)
    : queue_(std::make_shared<Queue>()),
      threads_(std::make_unique<std::vector<std::thread>>()),
      fork_generation_(platform::ForkGeneration()) {
  threads_->reserve(static_cast<std::size_t>(threads));
  try {
    const std::scoped_lock lock(queue_->mutex);
    for (int i = 0; i < threads; ++i) StartThread();
  } catch (...) {
    Stop();
    throw;
  }
}

TaskThreads::~TaskThreads() { Stop(); }

void TaskThreads::Post(std::function<void()> task) {
  if (fork_generation_ != platform::ForkGeneration()) return task();
  const std::shared_ptr<Queue> queue = queue_;  // the task may destroy this object
  std::unique_lock lock(queue->mutex);
  queue->tasks.push_back(std::move(task));
  if (queue->threads > 0) {
    lock.unlock();
    return queue->changed.notify_one();
  }
  // Stopped: one thread runs this task, and those that come meanwhile, so that users' callbacks
  // neither overlap nor run inside the call that causes them.
  JoinAll();
  try {
    StartThread();
  } catch (...) {
    ++queue->threads;
    lock.unlock();
    queue->Run();
  }
}

bool TaskThreads::OnOwnThread() const noexcept { return queue_of_this_thread == queue_.get(); }

bool OnTaskThread() noexcept { return queue_of_this_thread != nullptr; }

void TaskThreads::Stop(std::optional<std::chrono::nanoseconds> timeout) {
  if (fork_generation_ != platform::ForkGeneration()) {
    static_cast<void>(threads_.release());
    threads_ = std::make_unique<std::vector<std::thread>>();
    return;
  }
  std::unique_lock lock(queue_->mutex);
  queue_->stopped = true;
  queue_->changed.notify_all();
  if (threads_->empty()) return;
  const bool own = OnOwnThread();
  const auto ended = [&] { return queue_->threads == (own ? 1 : 0); };
  if (timeout) {
    queue_->ended.wait_for(lock, *timeout, ended);
  } else {
    queue_->ended.wait(lock, ended);
  }
  if (queue_->threads == 0) return JoinAll();
  for (auto& thread : *threads_) thread.detach();
  threads_->clear();
}

void TaskThreads::JoinAll() {
  for (auto& thread : *threads_) thread.join();  // none is in Run: there is nothing to wait for
  threads_->clear();
}

}  // namespace doclock::detail
