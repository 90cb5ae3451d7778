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
  runtime_.Work([self = shared_from_this()] {
    if (self->RunNext()) self->StartWorker();
  });
}

bool LimitedWork::RunNext() noexcept {
  std::unique_lock lock(mutex_);
  if (waiting_.empty()) {  // another worker took it
    --workers_;
    return false;
  }
  auto task = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  task();
  task = nullptr;  // what it captured may come back here when it goes
  lock.lock();
  if (!waiting_.empty()) return true;
  --workers_;
  return false;
}

}  // namespace doclock::detail
