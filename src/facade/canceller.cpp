#include "doclock/detail/facade.h"
#include "engine/waiting/pending_acquire.h"

namespace doclock::detail {

void Canceller::Cancel() noexcept {
  AcquireHandle handle;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    handle = std::move(handle_);
  }
  if (handle) CancelAcquire(handle);
}

void Canceller::Follow(AcquireHandle handle) {
  {
    const std::lock_guard lock(mutex_);
    // A wait may end before its starter follows it; then this may follow a later wait already.
    if (handle->settled()) return;
    if (!cancelled_) {
      handle_ = std::move(handle);
      return;
    }
  }
  CancelAcquire(handle);
}

}  // namespace doclock::detail
