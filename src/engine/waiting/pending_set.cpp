#include "engine/waiting/pending_set.h"

namespace doclock::detail {

void PendingSet::Add(PendingAcquire& waiter) noexcept {
  const std::scoped_lock lock(mutex_);
  waiters_.push_back(waiter);
}

void PendingSet::Remove(PendingAcquire& waiter) noexcept {
  const std::scoped_lock lock(mutex_);
  if (waiter.is_linked()) waiters_.erase(waiters_.iterator_to(waiter));
}

void PendingSet::Close() noexcept {
  while (true) {
    PendingPtr waiter;
    {
      const std::scoped_lock lock(mutex_);
      if (waiters_.empty()) return;
      waiter = waiters_.front().weak_from_this().lock();  // null: it is being destroyed
      waiters_.pop_front();
    }
    if (waiter && !waiter->fail_fast()) waiter->End(Errc::kCancelled);
  }
}

}  // namespace doclock::detail
