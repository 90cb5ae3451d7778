#pragma once

#include <boost/intrusive/list.hpp>
#include <mutex>

#include "engine/waiting/pending_acquire.h"

namespace doclock::detail {

/// All callers that want a lock, in a queue or with a request under way. Thread-safe.
class PendingSet {
 public:
  /// Call it before other threads know the attempt: a caller that reads StoreCalls::closed()
  /// afterwards misses no Close.
  void Add(PendingAcquire& waiter) noexcept;
  void Remove(PendingAcquire& waiter) noexcept;
  /// Ends each wait with kCancelled. One attempt that does not wait is no wait.
  void Close() noexcept;

 private:
  std::mutex mutex_;
  boost::intrusive::list<PendingAcquire, boost::intrusive::constant_time_size<false>> waiters_;
};

}  // namespace doclock::detail
