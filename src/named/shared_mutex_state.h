#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "named/mutex_state.h"

namespace doclock::detail {

/// What a SharedNamedMutex is made of: one mutex for those who want it alone, and one of its own
/// for each thread that shares it. Thread-safe.
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
  /// Of this thread's share; or else of whoever has it alone.
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] std::int64_t fence() const;

 private:
  using StatePtr = std::shared_ptr<MutexState>;

  /// This thread's; null if it has none.
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
