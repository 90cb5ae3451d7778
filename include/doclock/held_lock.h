#pragma once

/// @file
/// HeldLock: a named lock that is held. LockProvider makes it.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
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
  /// Releases the lock if it is still held, in the background; never throws.
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

}  // namespace doclock
