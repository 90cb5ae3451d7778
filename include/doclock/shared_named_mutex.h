#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "doclock/duration.h"
#include "doclock/export.h"
#include "doclock/named_mutex.h"

namespace doclock {

namespace detail {
class SharedMutexState;
}  // namespace detail

/// A named lock as a mutex that many may share: SharedLockable and SharedTimedLockable in the sense
/// of the standard, for std::shared_lock, std::unique_lock and std::scoped_lock. Made by
/// LockProvider::SharedMutex.
///
/// What is said about NamedMutex holds for it. Each thread has its own share: unlock_shared()
/// releases the share of the calling thread, and a thread that ends releases its share. A share
/// cannot be upgraded to the exclusive lock, nor the lock downgraded to a share.
///
/// A waiting writer keeps new readers out, in other processes too.
class DOCLOCK_EXPORT SharedNamedMutex {
 public:
  SharedNamedMutex(const SharedNamedMutex&) = delete;
  SharedNamedMutex& operator=(const SharedNamedMutex&) = delete;
  /// Releases what is locked; does no I/O.
  ~SharedNamedMutex();

  /// Locks it exclusively; waits until no other thread or process holds or shares it.
  /// @throws std::system_error (resource_deadlock_would_occur) if this thread has it already,
  /// either way
  void lock();
  /// Locks it exclusively if it is neither held nor shared; does not wait.
  [[nodiscard]] bool try_lock();
  /// Waits at most for this time.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return TryLock(detail::WaitOf(time));
  }
  /// Waits at most until then.
  template <class Clock, class Length>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Length>& until) {
    return TryLock(detail::WaitOf(until));
  }
  /// Releases it. Never throws; see NamedMutex::unlock.
  void unlock() noexcept;

  /// Shares it; waits until it is granted. @throws as lock()
  void lock_shared();
  /// Shares it if it is not held exclusively, no writer waits and fewer than `max_holders` share
  /// it; does not wait.
  [[nodiscard]] bool try_lock_shared();
  /// Waits at most for this time.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time) {
    return TryLockShared(detail::WaitOf(time));
  }
  /// Waits at most until then.
  template <class Clock, class Length>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Length>& until) {
    return TryLockShared(detail::WaitOf(until));
  }
  /// Releases this thread's share. Never throws. Does nothing if this thread has none.
  void unlock_shared() noexcept;

  /// Returns the lock's name.
  [[nodiscard]] const std::string& name() const noexcept;
  /// Does this thread hold or share it, as far as this process can know?
  [[nodiscard]] bool held() const noexcept;
  /// As HeldLock::lost, for this thread's share, or else for the exclusive lock.
  /// @throws std::logic_error if it is not locked
  [[nodiscard]] std::stop_token lost() const;
  /// As HeldLock::fence, for this thread's share, or else for the exclusive lock.
  /// @throws std::logic_error if it is not locked
  [[nodiscard]] std::int64_t fence() const;

 private:
  friend class LockProvider;
  explicit SharedNamedMutex(std::shared_ptr<detail::SharedMutexState> state) noexcept;
  bool TryLock(Duration wait);
  bool TryLockShared(Duration wait);

  std::shared_ptr<detail::SharedMutexState> state_;
};

}  // namespace doclock
