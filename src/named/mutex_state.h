#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "doclock/detail/facade.h"

namespace doclock::detail {

/// The state of a NamedMutex. Thread-safe.
class MutexState : public std::enable_shared_from_this<MutexState> {
 public:
  /// Keeps the manager open. `spec` says how to lock.
  MutexState(LockManager manager, BindingPtr binding, AcquireSpec spec)
      : manager_(std::move(manager)), binding_(std::move(binding)), spec_(std::move(spec)) {}
  ~MutexState();

  /// Takes the lock, waiting for `wait` at most; false if it is busy.
  bool Lock(Duration wait);
  /// Locks it; a thread that holds it locks it once more.
  bool LockAgain(Duration wait);
  /// Releases it, if this thread holds it.
  void Unlock() noexcept;
  /// Undoes one LockAgain of this thread.
  void UnlockOnce() noexcept;
  /// Releases grant `serial`, because the thread that took it ends; no other thread would.
  void OnThreadEnd(std::uint64_t serial) noexcept;

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] bool held() const noexcept;
  /// Does this thread hold it, as far as this process can know?
  [[nodiscard]] bool held_here() const noexcept;
  /// Is there nothing to release?
  [[nodiscard]] bool idle() const noexcept { return Current() == nullptr; }
  /// Is grant `serial` still to be released?
  [[nodiscard]] bool HeldSince(std::uint64_t serial) const noexcept;
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] std::int64_t fence() const;

 private:
  /// Does this thread hold it? Call it under the mutex.
  [[nodiscard]] bool Mine() const noexcept {
    return lease_ != nullptr && owner_ == std::this_thread::get_id();
  }
  bool Acquire(Duration wait);
  [[nodiscard]] LeasePtr Current() const;
  static void Release(const LeasePtr& lease) noexcept;

  const LockManager manager_;
  const BindingPtr binding_;
  const AcquireSpec spec_;

  mutable std::mutex mutex_;  ///< Guards what follows.
  LeasePtr lease_;
  std::thread::id owner_;
  std::uint64_t depth_ = 0;
  std::uint64_t serial_ = 0;  ///< The grant's number, of grants_.
  std::uint64_t grants_ = 0;
};

/// How many mutexes the calling thread would release if it ended now, including some that it does
/// not hold any more.
std::size_t MutexesOfThisThread() noexcept;

}  // namespace doclock::detail
