#include "named/shared_mutex_state.h"

#include <system_error>

namespace doclock::detail {
namespace {

/// A thread that holds it in one mode and asks for the other would deadlock with itself.
bool RefuseSelf(const std::string& name, Duration wait) {
  if (wait != kForever) return false;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "doclock: this thread has locked '" + name + "' already");
}

}  // namespace

SharedMutexState::StatePtr SharedMutexState::Mine() const {
  const std::scoped_lock lock(mutex_);
  const auto found = shares_.find(std::this_thread::get_id());
  return found == shares_.end() ? nullptr : found->second;
}

SharedMutexState::StatePtr SharedMutexState::MakeMine() {
  const std::scoped_lock lock(mutex_);
  // Threads that ended with a share left their entries behind. An entry that is being locked has
  // more than one owner.
  std::erase_if(shares_, [](const auto& entry) {
    return entry.second.use_count() == 1 && entry.second->idle();
  });
  StatePtr& mine = shares_[std::this_thread::get_id()];
  if (!mine) mine = std::make_shared<MutexState>(manager_, binding_, shared_);
  return mine;
}

bool SharedMutexState::Lock(Duration wait) {
  const StatePtr mine = Mine();
  if (mine && mine->held_here()) return RefuseSelf(name(), wait);
  return alone_->Lock(wait);
}

bool SharedMutexState::LockShared(Duration wait) {
  if (alone_->held_here()) return RefuseSelf(name(), wait);
  return MakeMine()->Lock(wait);
}

void SharedMutexState::UnlockShared() noexcept {
  StatePtr mine;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = shares_.find(std::this_thread::get_id());
    if (found == shares_.end()) return;
    mine = std::move(found->second);
    shares_.erase(found);
  }
  mine->Unlock();
}

SharedMutexState::StatePtr SharedMutexState::Current() const {
  StatePtr mine = Mine();
  return mine && !mine->idle() ? mine : alone_;
}

bool SharedMutexState::held() const noexcept {
  const StatePtr mine = Mine();
  return (mine && mine->held()) || alone_->held_here();
}

std::stop_token SharedMutexState::lost() const { return Current()->lost(); }

std::int64_t SharedMutexState::fence() const { return Current()->fence(); }

}  // namespace doclock::detail
