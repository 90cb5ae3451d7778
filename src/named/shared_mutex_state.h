#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "named/mutex_state.h"

namespace doclock::detail {

/// The state of a SharedNamedMutex: one mutex for exclusive use, and one for each thread that
/// shares it. Thread-safe.
class SharedMutexState {
 public:
  SharedMutexState(const LockManager& manager, const BindingPtr& binding, AcquireSpec alone,
                   AcquireSpec shared)
      : manager_(manager),
        binding_(binding),
        shared_(std::move(shared)),
        alone_(std::make_shared<MutexState>(manager, binding, std::move(alone))) {}

  bool Lock(Duration wait);
  void Unlock() noexcept { alone_->Unlock(); }
  bool LockShared(Duration wait);
  void UnlockShared() noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return alone_->name(); }
  [[nodiscard]] bool held() const noexcept;
  /// lost() and fence() are those of this thread's share, or else of the exclusive lock.
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] std::int64_t fence() const;

 private:
  using StatePtr = std::shared_ptr<MutexState>;

  /// This thread's share; null if it has none.
  [[nodiscard]] StatePtr Mine() const;
  StatePtr MakeMine();
  [[nodiscard]] StatePtr Current() const;

  const LockManager manager_;
  const BindingPtr binding_;
  const AcquireSpec shared_;
  const StatePtr alone_;

  mutable std::mutex mutex_;  ///< Guards what follows.
  std::map<std::thread::id, StatePtr> shares_;
};

}  // namespace doclock::detail
