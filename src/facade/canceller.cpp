#include "doclock/detail/facade.h"

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
    if (!cancelled_) {
      handle_ = std::move(handle);
      return;
    }
  }
  if (handle) CancelAcquire(handle);
}

}  // namespace doclock::detail
