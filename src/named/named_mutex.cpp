#include "doclock/named_mutex.h"

#include <utility>

#include "named/mutex_state.h"

namespace doclock {

NamedMutex::NamedMutex(std::shared_ptr<detail::MutexState> state) noexcept
    : state_(std::move(state)) {}

NamedMutex::~NamedMutex() = default;

void NamedMutex::lock() { static_cast<void>(state_->Lock(kForever)); }

bool NamedMutex::try_lock() { return TryLock({}); }

bool NamedMutex::TryLock(Duration wait) { return state_->Lock(wait); }

void NamedMutex::unlock() noexcept { state_->Unlock(); }

const std::string& NamedMutex::name() const noexcept { return state_->name(); }

bool NamedMutex::held() const noexcept { return state_->held(); }

std::stop_token NamedMutex::lost() const { return state_->lost(); }

std::int64_t NamedMutex::fence() const { return state_->fence(); }

RecursiveNamedMutex::RecursiveNamedMutex(std::shared_ptr<detail::MutexState> state) noexcept
    : state_(std::move(state)) {}

RecursiveNamedMutex::~RecursiveNamedMutex() = default;

void RecursiveNamedMutex::lock() { static_cast<void>(state_->LockAgain(kForever)); }

bool RecursiveNamedMutex::try_lock() { return TryLock({}); }

bool RecursiveNamedMutex::TryLock(Duration wait) { return state_->LockAgain(wait); }

void RecursiveNamedMutex::unlock() noexcept { state_->UnlockOnce(); }

const std::string& RecursiveNamedMutex::name() const noexcept { return state_->name(); }

bool RecursiveNamedMutex::held() const noexcept { return state_->held(); }

std::stop_token RecursiveNamedMutex::lost() const { return state_->lost(); }

std::int64_t RecursiveNamedMutex::fence() const { return state_->fence(); }

}  // namespace doclock
