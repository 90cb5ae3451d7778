#pragma once

/// @file
/// Named locks as mutexes, for std::scoped_lock and the like. LockProvider makes them.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <ratio>
#include <stop_token>
#include <string>

#include "doclock/export.h"
#include "doclock/time.h"

namespace doclock {

class LockProvider;

namespace detail {
class MutexState;

/// Returns the time to wait: `time`, or zero if it is negative. Not for users.
template <class Rep, class Period>
Duration WaitOf(const std::chrono::duration<Rep, Period>& time) {
  return std::max(Duration(time), Duration());
}

/// Returns the time to wait until `until`, or zero if it has passed. Not for users.
template <class Clock, class Length>
Duration WaitOf(const std::chrono::time_point<Clock, Length>& until) {
  // Floating point, because the end of a clock's time may not fit the unit of the difference.
  using Milliseconds = std::chrono::duration<long double, std::milli>;
  const Milliseconds now(Clock::now().time_since_epoch());
  return WaitOf(Milliseconds(until.time_since_epoch()) - now);
}
}  // namespace detail

/// A named lock as a mutex: Lockable and TimedLockable in the sense of the standard, for
/// std::scoped_lock, std::unique_lock and std::lock. Made by LockProvider::Mutex.
///
/// The lock is renewed in the background while it is held. Like every lease it can be lost all the
/// same: watch lost(). A thread that ends while it holds the lock releases it (except a lock that
/// the destructor of a thread_local object takes and leaves locked). The object must outlive its
/// use, like a std::mutex; destroying a locked one releases it.
///
/// Thread-safe, like a std::mutex. The thread that locked it unlocks it. lock() and the try forms
/// throw StoreException and InDoubtException as LockProvider::Acquire does.
class DOCLOCK_EXPORT NamedMutex {
 public:
  NamedMutex(const NamedMutex&) = delete;
  NamedMutex& operator=(const NamedMutex&) = delete;
  /// Releases it, if it is locked; does no I/O.
  ~NamedMutex();

  /// Waits until it is locked.
  /// @throws std::system_error (resource_deadlock_would_occur) if this thread holds it already
  void lock();
  /// Locks it if it is free and no other caller waits for it; does not wait.
  [[nodiscard]] bool try_lock();
  /// Locks the mutex, waiting for `time` at most. Returns true if it was locked, false if the time
  /// ran out.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return TryLock(detail::WaitOf(time));
  }
  /// Locks the mutex, waiting until `until` at most. Returns true if it was locked, false if the
  /// time ran out.
  template <class Clock, class Length>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Length>& until) {
    return TryLock(detail::WaitOf(until));
  }
  /// Releases it. Never throws: what cannot be released now is released in the background, or ends
  /// with its lease. Does nothing unless this thread locked it last: a thread that lost the lock
  /// cannot release it for the thread that took it since.
  void unlock() noexcept;

  /// Returns the lock's name.
  [[nodiscard]] const std::string& name() const noexcept;
  /// Is it held by this object, as far as this process can know?
  [[nodiscard]] bool held() const noexcept;
  /// See HeldLock::lost. @throws std::logic_error if it is not locked
  [[nodiscard]] std::stop_token lost() const;
  /// See HeldLock::fence. @throws std::logic_error if it is not locked
  [[nodiscard]] std::int64_t fence() const;

 private:
  friend class LockProvider;
  explicit NamedMutex(std::shared_ptr<detail::MutexState> state) noexcept;
  bool TryLock(Duration wait);

  std::shared_ptr<detail::MutexState> state_;
};

/// A NamedMutex that the thread which holds it may lock again. It is released when that thread has
/// unlocked it as often as it locked it. Made by LockProvider::RecursiveMutex.
///
/// unlock() by a thread that does not hold it does nothing.
class DOCLOCK_EXPORT RecursiveNamedMutex {
 public:
  RecursiveNamedMutex(const RecursiveNamedMutex&) = delete;
  RecursiveNamedMutex& operator=(const RecursiveNamedMutex&) = delete;
  /// Releases it, if it is locked; does no I/O.
  ~RecursiveNamedMutex();

  /// Waits until it is locked.
  /// @throws LockException kLost if this thread locked it and lost it since: unlock it first
  void lock();
  /// Locks it if no other thread or process holds it. @throws as lock()
  [[nodiscard]] bool try_lock();
  /// Locks the mutex, waiting for `time` at most. Returns true if it was locked, false if the time
  /// ran out.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return TryLock(detail::WaitOf(time));
  }
  /// Locks the mutex, waiting until `until` at most. Returns true if it was locked, false if the
  /// time ran out.
  template <class Clock, class Length>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Length>& until) {
    return TryLock(detail::WaitOf(until));
  }
  /// Undoes one lock(); the last unlock() releases it. Never throws.
  void unlock() noexcept;

  /// Returns the lock's name.
  [[nodiscard]] const std::string& name() const noexcept;
  /// Is it held by this object, as far as this process can know?
  [[nodiscard]] bool held() const noexcept;
  /// See HeldLock::lost. @throws std::logic_error if it is not locked
  [[nodiscard]] std::stop_token lost() const;
  /// See HeldLock::fence. @throws std::logic_error if it is not locked
  [[nodiscard]] std::int64_t fence() const;

 private:
  friend class LockProvider;
  explicit RecursiveNamedMutex(std::shared_ptr<detail::MutexState> state) noexcept;
  bool TryLock(Duration wait);

  std::shared_ptr<detail::MutexState> state_;
};

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
