#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <ratio>
#include <stop_token>
#include <string>

#include "doclock/duration.h"
#include "doclock/export.h"

namespace doclock {

class LockProvider;

namespace detail {
class MutexState;
struct AcquireSpec;
struct Binding;

/// How long to wait: so long, never less than nothing. Not for users.
template <class Rep, class Period>
Duration WaitOf(const std::chrono::duration<Rep, Period>& time) {
  return std::max(Duration(time), Duration());
}

/// How long to wait: until then, never less than nothing. Not for users.
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
/// The lock renews itself while it is held. Like every lease it can be lost all the same: watch
/// lost(). A thread that ends while it holds one releases it (but for one that the destructor of a
/// thread_local object locks and leaves locked). The object must outlive its use, like a
/// std::mutex; destroying a locked one releases it.
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
  /// Locks it if nobody holds it.
  [[nodiscard]] bool try_lock();
  /// Waits so long at most.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return TryLock(detail::WaitOf(time));
  }
  /// Waits until then at most.
  template <class Clock, class Length>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Length>& until) {
    return TryLock(detail::WaitOf(until));
  }
  /// Gives it back. Never throws: what cannot be released now is released in the background, or
  /// ends with its lease. Does nothing unless this thread locked it last: a thread that lost it
  /// does not free the lock of the one that took it since.
  void unlock() noexcept;

  /// The lock's name.
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

/// A NamedMutex that the thread which holds it may lock again. It counts, and is released when that
/// thread has unlocked it as often. Made by LockProvider::RecursiveMutex.
///
/// unlock() by a thread that does not hold it does nothing.
class DOCLOCK_EXPORT RecursiveNamedMutex {
 public:
  RecursiveNamedMutex(const RecursiveNamedMutex&) = delete;
  RecursiveNamedMutex& operator=(const RecursiveNamedMutex&) = delete;
  /// Releases it, if it is locked; does no I/O.
  ~RecursiveNamedMutex();

  /// Waits until it is locked.
  /// @throws LockException kLost if this thread holds it and lost it: unlock it first
  void lock();
  /// Locks it if no other thread or process holds it. @throws as lock()
  [[nodiscard]] bool try_lock();
  /// Waits so long at most.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return TryLock(detail::WaitOf(time));
  }
  /// Waits until then at most.
  template <class Clock, class Length>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Length>& until) {
    return TryLock(detail::WaitOf(until));
  }
  /// Undoes one lock(); the last one gives it back. Never throws.
  void unlock() noexcept;

  /// The lock's name.
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

}  // namespace doclock
