#pragma once

/// @file
/// What a named lock is held by: HeldLock, and mutexes for std::scoped_lock and the like.
/// LockProvider makes them.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <ratio>
#include <stop_token>
#include <string>
#include <utility>

#include "doclock/detail/async.h"
#include "doclock/export.h"
#include "doclock/time.h"

namespace doclock {

class LockProvider;
template <class Handle>
class LockTarget;
class Transaction;

namespace detail {

/// The state that a HeldLock and its asynchronous verbs share. The last of them to go releases what
/// is still held.
struct DOCLOCK_EXPORT HeldState {
  HeldState(BindingPtr b, LeasePtr l) noexcept : binding(std::move(b)), lease(std::move(l)) {}
  HeldState(const HeldState&) = delete;
  HeldState& operator=(const HeldState&) = delete;
  ~HeldState();

  const BindingPtr binding;
  const LeasePtr lease;
  std::atomic<bool> ended = false;
};
using HeldStatePtr = std::shared_ptr<HeldState>;

/// After a release or a detach.
struct HeldEnded {
  HeldStatePtr state;
  void operator()() const noexcept { state->ended.store(true, std::memory_order_release); }
};
/// After a renewal.
struct HeldKept {
  HeldStatePtr state;
  void operator()() const noexcept {}
};

}  // namespace detail

/// A named lock that is held, for as long as held() says so. The library renews it in the
/// background, unless LockOptions::renew is false.
///
/// A handle that is destroyed without Release() releases the lock: the destructor does no I/O and
/// never throws. It queues the release, and callers in this process that want the same name queue
/// behind it.
///
/// Move-only. A default-constructed, moved-from, released or detached handle is empty: held() is
/// false, and the verbs throw std::logic_error. (name(), fence() and lost() still answer after
/// Release() and Detach().)
///
/// Not thread-safe, except for lost(), Remaining() and held(). While an asynchronous verb is under
/// way, the handle may be moved or destroyed.
///
/// Verbs throw
/// - LockException kLost when the lease has ended or the lock was broken; kForked in a child
///   process,
/// - InDoubtException when the outcome is unknown,
/// - StoreException: kUnavailable and kRefused leave the lock held; kClosed means that the
///   LockManager was closed.
///
/// The asynchronous forms take any Boost.Asio completion token of signature
/// `void(std::exception_ptr)`. They cannot be cancelled: the library finishes what it began.
class DOCLOCK_EXPORT HeldLock {
 public:
  /// An empty handle.
  HeldLock() noexcept = default;
  /// Leaves the other one empty.
  HeldLock(HeldLock&&) noexcept = default;
  /// Releases what this handle holds, as the destructor does, and leaves the other one empty.
  HeldLock& operator=(HeldLock&&) noexcept = default;
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;
  /// Releases the lock if it is still held; see above.
  ~HeldLock() = default;

  /// Returns the lock's name.
  [[nodiscard]] const std::string& name() const;
  /// Returns the grant's id, unique to this grant. Any program that knows it can release the lock:
  /// keep it secret.
  [[nodiscard]] const Uuid& lock_id() const;
  /// Returns the fencing token: higher than that of any earlier holder of this name. It survives
  /// release, expiry, Break() and Purge(), unless a Purge() with `forget` deletes the name.
  [[nodiscard]] std::int64_t fence() const;
  /// Returns a token that is asked to stop when the lease ends, before the lock can be granted to
  /// another client; Release() does not stop it. Callbacks registered with it run on the manager's
  /// notifier thread and must not throw. Thread-safe.
  [[nodiscard]] std::stop_token lost() const;
  /// Returns the time until the holder must stop unless the lease is renewed; zero once lost or
  /// released. Thread-safe.
  [[nodiscard]] std::chrono::nanoseconds Remaining() const noexcept;
  /// Is the lock held, as far as this process can know? Thread-safe.
  [[nodiscard]] bool held() const noexcept;
  /// See held().
  explicit operator bool() const noexcept { return held(); }

  /// Renews the lease from now on with this length, which later renewals use too; zero: the length
  /// it had. A renewal never shortens a lease. After InDoubtException the lock is still held, until
  /// the end it had before.
  /// @throws std::invalid_argument unless `ttl` is zero or kMinTtl to kMaxTtl
  void Renew(Duration ttl = {});
  /// Releases the lock.
  void Release();
  /// Stops renewing, and makes the handle empty without a release: the lock stays held until its
  /// lease ends, or until another client releases its group or breaks it.
  void Detach();

  /// Renew() with a completion token.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto RenewAsync(Duration ttl = {}, Token&& token = Token()) {
    CheckTtl(ttl);
    return Start(detail::RenewOperation<detail::HeldKept>{{Active()->lease, {Active()}}, ttl.ms()},
                 std::forward<Token>(token));
  }
  /// Release() with a completion token. The handle keeps the lock if the release fails for a reason
  /// that leaves it held.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto ReleaseAsync(Token&& token = Token()) {
    return Start(
        detail::WriteOperation<detail::HeldEnded>{
            {Active()->lease, {Active()}}, WriteKind::kRelease, Body()},
        std::forward<Token>(token));
  }
  /// Detach() with a completion token.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto DetachAsync(Token&& token = Token()) {
    return Start(detail::DetachOperation<detail::HeldEnded>{{Active()->lease, {Active()}}},
                 std::forward<Token>(token));
  }

 private:
  friend class LockProvider;
  friend class LockTarget<HeldLock>;
  friend class Transaction;

  HeldLock(detail::BindingPtr binding, detail::Grant grant)
      : state_(std::make_shared<detail::HeldState>(std::move(binding), grant.lease)) {
    grant.lease = nullptr;  // the state's from now on
  }

  static void CheckTtl(Duration ttl);
  /// Was it released, detached or moved from?
  [[nodiscard]] bool gave_up() const noexcept {
    return !state_ || state_->ended.load(std::memory_order_acquire);
  }
  [[nodiscard]] const detail::HeldState& state() const;
  /// The state of a handle that still has its lock. @throws std::logic_error for another handle
  [[nodiscard]] const detail::HeldStatePtr& Active() const;

  template <class Op, class Token>
  auto Start(Op op, Token&& token) {
    const auto engine = state_->binding->engine;
    return detail::Initiate(engine, std::move(op), std::forward<Token>(token));
  }

  detail::HeldStatePtr state_;
};

namespace detail {
class MutexState;
struct AcquireSpec;

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
  /// Locks it, waiting at most for this time; false if the time ran out.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return TryLock(detail::WaitOf(time));
  }
  /// Locks it, waiting at most until then; false if the time ran out.
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
  /// Locks it, waiting at most for this time; false if the time ran out.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return TryLock(detail::WaitOf(time));
  }
  /// Locks it, waiting at most until then; false if the time ran out.
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
