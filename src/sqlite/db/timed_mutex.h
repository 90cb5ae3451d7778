#pragma once

#include <condition_variable>
#include <mutex>

#include "sqlite/db/deadline.h"

namespace doclock::sqlite {

/// A mutex whose lock gives up at a deadline, like std::timed_mutex, in terms that ThreadSanitizer
/// understands.
class TimedMutex {
 public:
  /// Returns true if it is locked; false when the deadline came first.
  [[nodiscard]] bool Enter(Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [this] { return !taken_; })) return false;
    taken_ = true;
    return true;
  }
  void Leave() noexcept {
    {
      const std::lock_guard lock(mutex_);
      taken_ = false;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;
};

}  // namespace doclock::sqlite
