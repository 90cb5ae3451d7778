#include "engine/waiting/pending_set.h"

#include <utility>

#include "engine/waiting/wait_table.h"

namespace doclock::detail {

void PendingSet::Add(PendingAcquire& waiter) noexcept {
  const std::scoped_lock lock(mutex_);
  waiters_.push_back(waiter);
  waiter.registered = true;
}

void PendingSet::Remove(PendingAcquire& waiter) noexcept {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(waiter.registered, false)) waiters_.erase(waiters_.iterator_to(waiter));
}

void PendingSet::Close() noexcept {
  while (true) {
    PendingPtr waiter;
    {
      const std::scoped_lock lock(mutex_);
      if (waiters_.empty()) return;
      waiter = waiters_.front().weak_from_this().lock();  // null: it is being destroyed
      waiters_.front().registered = false;
      waiters_.pop_front();
    }
    if (!waiter) continue;
    if (!waiter->fail_fast()) {
      waiter->End(Errc::kCancelled);
    } else {
      waiter->table->EndIfQueued(*waiter);
    }
  }
}

}  // namespace doclock::detail
