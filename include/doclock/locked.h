#pragma once

/// @file
/// A document in the user's hands: Snapshot, as it was read, and Locked, which holds its lock.

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "doclock/detail/async.h"
#include "doclock/detail/facade.h"

namespace doclock {

namespace detail {
template <class T>
class Documents;
}
class Transaction;

/// A document as it was when it was read, for optimistic writes: `LockingRepository::Save` stores
/// its entity if the document was not changed meanwhile.
///
/// Move-only; the entity stays where it is when the snapshot moves. Not thread-safe. A
/// default-constructed or moved-from snapshot is empty: all but the conversion to bool and moves
/// throw std::logic_error.
template <class T>
class Snapshot {
  static_assert(detail::EntityCheck<T>::value);

 public:
  /// An empty snapshot.
  Snapshot() noexcept = default;

  /// Is there an entity?
  explicit operator bool() const noexcept { return entity_ != nullptr; }
  /// Returns the entity.
  [[nodiscard]] T& operator*() { return *entity(); }
  /// Returns the entity.
  [[nodiscard]] const T& operator*() const { return *entity(); }
  /// Returns the entity.
  [[nodiscard]] T* operator->() { return entity(); }
  /// Returns the entity.
  [[nodiscard]] const T* operator->() const { return entity(); }

  /// Returns the document's key.
  [[nodiscard]] const Key& key() const { return row().key; }
  /// Returns the document's version when it was read, or after the last Save of this snapshot; 0
  /// for documents that were never locked or saved through this library.
  [[nodiscard]] std::int64_t version() const { return row().version; }
  /// Was it locked when it was read?
  [[nodiscard]] bool locked() const { return row().locked; }

 private:
  friend class detail::Documents<T>;
  friend class Transaction;

  /// @throws DocumentException when T cannot read the body.
  Snapshot(const Collection& collection, QueryRow&& row)
      : row_(std::move(row)),
        entity_(new T(detail::Codec<T>::Read(collection, row_.key, row_.body))) {
    detail::ClearLockFields(*entity_, row_.version);
  }

  /// Takes over the new state after a save that the store confirmed.
  void Follow(Body body, std::int64_t version) {
    row_.body = std::move(body);
    row_.version = version;
    row_.locked = false;
    detail::ClearLockFields(*entity_, version);
  }

  [[nodiscard]] T* entity() const {
    if (!entity_) detail::ThrowEmptyHandle();
    return entity_.get();
  }
  [[nodiscard]] const QueryRow& row() const {
    (void)entity();
    return row_;
  }

  QueryRow row_;
  std::unique_ptr<T> entity_;
};

template <class Handle>
class LockTarget;

/// A locked document: the entity, and the right to write it, for as long as held() says so.
///
/// `Release()` writes the entity and unlocks in one step. A handle that is destroyed without it
/// unlocks and leaves the stored document as it was: the destructor does no I/O and never throws.
/// It queues the release, and callers in this process that want the same key queue behind it.
///
/// Move-only. The entity lives on the heap: references to it stay valid when the handle moves, and
/// T itself need not be movable. A default-constructed, moved-from or consumed handle is empty:
/// held() is false, Remaining() is zero, and every other member but move and destruction throws
/// std::logic_error.
///
/// Not thread-safe, except for lost(), Remaining() and held(). While an asynchronous verb is under
/// way, you may move or destroy the handle, but must not use the entity.
///
/// Verbs that write throw
/// - LockException kLost when the lease has ended or the lock was broken: nothing was written, and
///   the handle is dead; kForked in a child process,
/// - InDoubtException when the outcome is unknown; the handle is dead,
/// - ConflictException (a unique index), DocumentException (the entity cannot be stored),
///   std::invalid_argument (the entity's key was changed), StoreException (kUnavailable, kRefused),
///   and what `to_json` throws: nothing was written and the lock is *still held*; mend the entity
///   and try again, or Discard(),
/// - StoreException kClosed when the LockManager was closed; the handle is dead,
/// - std::logic_error when this handle has already released its lock, or another verb of it is
///   under way; for Save, Release and Erase also after a Transaction::Commit that named this handle
///   was refused, until a later one succeeds or Revert(). The asynchronous forms throw it too.
///
/// The asynchronous forms take any Boost.Asio completion token. The call throws errors in the
/// entity; all other errors reach the token. They cannot be cancelled: the library finishes a write
/// that it began.
template <class T>
class Locked {
  static_assert(detail::EntityCheck<T>::value);

 public:
  /// An empty handle.
  Locked() noexcept = default;
  /// Leaves the other one empty.
  Locked(Locked&&) noexcept = default;
  /// Unlocks what this handle holds, as the destructor does, and leaves the other one empty.
  Locked& operator=(Locked&&) noexcept = default;
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  /// Releases the lock if it is still held, in the background; never throws.
  ~Locked() = default;

  /// Returns the entity. Changes are stored by Save and Release.
  [[nodiscard]] T& operator*() { return state().entity; }
  /// Returns the entity.
  [[nodiscard]] const T& operator*() const { return state().entity; }
  /// Returns the entity.
  [[nodiscard]] T* operator->() { return &state().entity; }
  /// Returns the entity.
  [[nodiscard]] const T* operator->() const { return &state().entity; }

  /// Returns the document's key.
  [[nodiscard]] const Key& key() const { return detail::LeaseKey(lease()); }
  /// Returns the grant's id, unique to this grant.
  [[nodiscard]] const Uuid& lock_id() const { return detail::LeaseLockId(lease()); }
  /// Returns the fencing token: higher than that of any earlier holder of this document.
  [[nodiscard]] std::int64_t fence() const { return detail::LeaseFence(lease()); }
  /// Returns the document's version after the last write of this handle.
  [[nodiscard]] std::int64_t version() const { return detail::LeaseVersion(lease()); }
  /// Was the document created by taking this lock?
  [[nodiscard]] bool created() const { return state().created; }

  /// Returns a token that is asked to stop when the lease ends, before the lock can be granted to
  /// another client. Callbacks registered with it run on the manager's notifier thread and must not
  /// throw. Thread-safe.
  [[nodiscard]] std::stop_token lost() const { return detail::LeaseLost(state().lease); }
  /// Returns the time until the holder must stop unless the lease is renewed; zero once lost or
  /// released. Thread-safe.
  [[nodiscard]] std::chrono::nanoseconds Remaining() const {
    return held() ? detail::LeaseRemaining(lease()) : std::chrono::nanoseconds::zero();
  }
  /// Is the lock held, as far as this process can know? Thread-safe.
  [[nodiscard]] bool held() const noexcept {
    return state_ && !state_->ended.load(std::memory_order_acquire) &&
           detail::LeaseHeld(*state_->lease);
  }
  /// See held().
  explicit operator bool() const noexcept { return held(); }

  /// Stores the entity, renews the lease and keeps the lock.
  void Save() {
    detail::ThrowIf(detail::Write(settled().lease, WriteKind::kCheckpoint, state().MakeBody()));
    state_->Saved();
  }
  /// Stores the entity and unlocks, in one step.
  void Release() {
    detail::ThrowIf(detail::Write(settled().lease, WriteKind::kRelease, state().MakeBody()));
    state_->Ended();
  }
  /// Unlocks and leaves the stored document as it is.
  void Discard() {
    (void)active();
    End(WriteKind::kRelease);
  }
  /// Deletes the document and its lock.
  void Erase() {
    (void)settled();
    End(WriteKind::kErase);
  }
  /// Makes the entity again what is stored: as it was locked, or last saved. The lock stays held.
  /// The store is not asked. References to the entity stay valid.
  /// @throws what T's reading throws (the entity is unchanged then); std::logic_error for a handle
  /// that has given up its lock
  void Revert()
    requires std::is_move_assignable_v<T>
  {
    active().Revert();
  }
  /// Stops renewing; the destructor will not unlock. The lock stays held until its lease ends or a
  /// program releases it by value, see LockFields. The handle keeps the entity, and its embedded
  /// LockFields stay filled.
  void Detach() {
    detail::ThrowIf(detail::Detach(active().lease));
    state_->Detached();
  }

  /// Save() with a completion token of signature `void(std::exception_ptr)`.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto SaveAsync(Token&& token = Token()) {
    return WriteAsync(WriteKind::kCheckpoint, settled().MakeBody(), SavedFn{state_},
                      std::forward<Token>(token));
  }
  /// Release() with a completion token of signature `void(std::exception_ptr)`. The handle keeps
  /// the lock if the release fails for a reason that leaves it held.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto ReleaseAsync(Token&& token = Token()) {
    return WriteAsync(WriteKind::kRelease, settled().MakeBody(), EndedFn{state_},
                      std::forward<Token>(token));
  }
  /// Discard() with a completion token of signature `void(std::exception_ptr)`.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto DiscardAsync(Token&& token = Token()) {
    return WriteAsync(WriteKind::kRelease, Body(), EndedFn{active_state()},
                      std::forward<Token>(token));
  }
  /// Erase() with a completion token of signature `void(std::exception_ptr)`.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto EraseAsync(Token&& token = Token()) {
    (void)settled();
    return WriteAsync(WriteKind::kErase, Body(), EndedFn{active_state()},
                      std::forward<Token>(token));
  }
  /// Detach() with a completion token of signature `void(std::exception_ptr)`.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto DetachAsync(Token&& token = Token()) {
    auto state = active_state();
    const auto engine = state->binding->engine;
    auto lease = state->lease;
    return detail::Initiate(
        engine,
        detail::DetachOperation<DetachedFn>{{std::move(lease), DetachedFn{std::move(state)}}},
        std::forward<Token>(token));
  }

 private:
  friend class LockTarget<Locked<T>>;
  friend class Transaction;

  /// Shared with asynchronous verbs under way. The last owner to go releases what is still held.
  struct State {
    State(detail::BindingPtr b, detail::Grant& grant)
        : binding(std::move(b)),
          guard{std::move(grant.lease)},
          lease(guard.lease),
          created(grant.created),
          entity(Read(grant.body)) {
      detail::FillLockFields(entity, *lease);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
      if (ended.load(std::memory_order_acquire)) guard.lease = nullptr;
    }

    [[nodiscard]] T Read(const Body& body) const {
      return detail::Codec<T>::Read(*binding->collection, detail::LeaseKey(*lease), body);
    }
    void Revert() {
      entity = Read(detail::LeaseBody(*lease));
      Saved();
      unsettled = false;
    }
    [[nodiscard]] Body MakeBody() const {
      return detail::Codec<T>::Over(*binding->collection, detail::LeaseKey(*lease),
                                    detail::LeaseBody(*lease), entity);
    }
    void Saved() noexcept { detail::FillLockFields(entity, *lease); }
    void Ended() noexcept {
      detail::ClearLockFields(entity, detail::LeaseVersion(*lease));
      ended.store(true, std::memory_order_release);
    }
    void Detached() noexcept { ended.store(true, std::memory_order_release); }

    /// Owns the lock before T is made, since making T may throw.
    struct Guard {
      detail::LeasePtr lease;  ///< Released when the guard goes.
      ~Guard() {
        if (lease) detail::Abandon(std::move(lease));
      }
    };

    const detail::BindingPtr binding;
    Guard guard;
    const detail::LeasePtr lease;
    const bool created;
    std::atomic<bool> ended = false;
    /// Whether the last commit that named the handle was refused, and no Revert followed. Atomic,
    /// because a commit may complete on another thread.
    std::atomic<bool> unsettled = false;
    T entity;
  };
  using StatePtr = std::shared_ptr<State>;

  struct SavedFn {
    StatePtr state;
    void operator()() const noexcept { state->Saved(); }
  };
  struct EndedFn {
    StatePtr state;
    void operator()() const noexcept { state->Ended(); }
  };
  struct DetachedFn {
    StatePtr state;
    void operator()() const noexcept { state->Detached(); }
  };

  /// @throws DocumentException when T cannot read the body; the lock is released.
  Locked(detail::BindingPtr binding, detail::Grant grant)
      : state_(std::make_shared<State>(std::move(binding), grant)) {}

  [[nodiscard]] State& state() const {
    if (!state_) detail::ThrowEmptyHandle();
    return *state_;
  }
  [[nodiscard]] const detail::Lease& lease() const { return *state().lease; }
  /// The state of a handle that still has its lock. @throws std::logic_error for another handle
  [[nodiscard]] State& active() const {
    if (!state_ || state_->ended.load(std::memory_order_acquire)) detail::ThrowEmptyHandle();
    return *state_;
  }
  /// As active(). @throws std::logic_error also after a refused commit: see Transaction::Commit
  [[nodiscard]] State& settled() const {
    State& state = active();
    if (state.unsettled) detail::ThrowUnsettled();
    return state;
  }
  [[nodiscard]] StatePtr active_state() const {
    (void)active();
    return state_;
  }

  void End(WriteKind kind) {
    detail::ThrowIf(detail::Write(state_->lease, kind, Body()));
    state_->Ended();
  }

  template <class After, class Token>
  static auto WriteAsync(WriteKind kind, Body body, After after, Token&& token) {
    const auto engine = after.state->binding->engine;
    auto lease = after.state->lease;
    return detail::Initiate(
        engine,
        detail::WriteOperation<After>{{std::move(lease), std::move(after)}, kind, std::move(body)},
        std::forward<Token>(token));
  }

  StatePtr state_;
};

}  // namespace doclock
