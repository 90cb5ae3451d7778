#include "engine/runtime/limited_work.h"

#include <utility>

namespace doclock::detail {

void LimitedWork::Run(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(task));
    if (workers_ == most_) return;
    ++workers_;
  }
  StartWorker();
}

void LimitedWork::StartWorker() noexcept {
  try {
    runtime_.Work([self = shared_from_this()] { self->RunNext(); });
  } catch (...) {
    RunNext();  // out of memory: better here than never
  }
}

void LimitedWork::RunNext() noexcept {
  std::unique_lock lock(mutex_);
  if (waiting_.empty()) {  // another worker took it
    --workers_;
    return;
  }
  auto task = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  try {
    task();
  } catch (...) {
    // Tasks do not throw. One that does must not keep its place from others.
  }
  task = nullptr;  // what it captured may come back here when it goes
  lock.lock();
  if (waiting_.empty()) {
    --workers_;
    return;
  }
  lock.unlock();
  StartWorker();  // one task at a time: batches that wait for a worker get their turn
}

}  // namespace doclock::detail
