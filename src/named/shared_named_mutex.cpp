#include "doclock/named_mutex.h"

#include <utility>

#include "named/shared_mutex_state.h"

namespace doclock {

SharedNamedMutex::SharedNamedMutex(std::shared_ptr<detail::SharedMutexState> state) noexcept
    : state_(std::move(state)) {}

SharedNamedMutex::~SharedNamedMutex() = default;

void SharedNamedMutex::lock() { static_cast<void>(state_->Lock(kForever)); }

bool SharedNamedMutex::try_lock() { return TryLock({}); }

bool SharedNamedMutex::TryLock(Duration wait) { return state_->Lock(wait); }

void SharedNamedMutex::unlock() noexcept { state_->Unlock(); }

void SharedNamedMutex::lock_shared() { static_cast<void>(state_->LockShared(kForever)); }

bool SharedNamedMutex::try_lock_shared() { return TryLockShared({}); }

bool SharedNamedMutex::TryLockShared(Duration wait) { return state_->LockShared(wait); }

void SharedNamedMutex::unlock_shared() noexcept { state_->UnlockShared(); }

const std::string& SharedNamedMutex::name() const noexcept { return state_->name(); }

bool SharedNamedMutex::held() const noexcept { return state_->held(); }

std::stop_token SharedNamedMutex::lost() const { return state_->lost(); }

std::int64_t SharedNamedMutex::fence() const { return state_->fence(); }

}  // namespace doclock
