#pragma once

#include <boost/asio/use_awaitable.hpp>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/callable.h"
#include "doclock/lock_all.h"
#include "doclock/lock_manager.h"
#include "doclock/lock_status.h"
#include "doclock/locked.h"
#include "doclock/snapshot.h"

namespace doclock {

class Transaction;

/// The documents of one collection, as Ts: locks them, reads them, writes them.
///
/// A cheap handle that keeps its LockManager open. Thread-safe: all verbs are const and may be
/// called from any number of threads. One that was moved from throws std::logic_error.
///
/// **Keys.** Pass a key as the type that EntityTraits<T>::GetKey returns, or as a Key. Where T
/// knows its key, every verb that takes both checks that they agree (std::invalid_argument).
///
/// **Entities.** A verb that takes an entity besides the key creates a missing document from it; a
/// stored body always wins over the given entity. Without an entity, a missing document is
/// NotFoundException. Stored fields that T does not know stay as they are, in nested objects too,
/// as long as an object stays one. An array that T did not change stays as it is stored; one that T
/// changed is replaced.
///
/// **Errors.** Verbs that lock throw
/// - LockException: kBusy, or kTimedOut after a wait (with what is known about the holder),
///   kCancelled (stop token, Asio cancellation, Close()); the Try forms return nothing instead of
///   kBusy and kTimedOut,
/// - DocumentException when T cannot read the stored body: the lock is released and the document
///   is unchanged,
/// - ConflictException when a unique index refuses the new document,
/// - StoreException (kUnavailable, kRefused, kMalformed, kClosed),
/// - InDoubtException when the lock may have been taken: the library releases it in the background.
///   After a LockNext whose store never named the document, the lock ends with its lease,
/// - std::invalid_argument for bad options, naming the field, before anything is sent.
///
/// **Asynchronous forms** take any Boost.Asio completion token, `use_future` by default. The call
/// checks options and entities, and turns entities into JSON, before it returns. It throws errors
/// in them; all other errors reach the token. A handler runs on its associated executor, or on the
/// manager's notifier thread if it has none. Its execution context must outlive the operation, and
/// a handler on the notifier thread must not throw. If an executor throws, the handler is destroyed
/// without a call (Asio's use_future then reports std::future_errc::broken_promise), and a lock
/// that it would have got is released. Per-operation cancellation ends waits. In a coroutine, build
/// an entity in a variable first (GCC 12 miscompiles some temporaries inside co_await).
template <class T>
class LockingRepository {
  static_assert(detail::EntityCheck<T>::value);
  using Binding = detail::BindingPtr;
  using KeyArg = detail::KeyArg<T>;

 public:
  /// Opens the collection.
  /// @throws std::invalid_argument for a bad name or option, naming it; StoreException
  LockingRepository(LockManager manager, const std::string& name, RepositoryOptions options = {})
      : manager_(std::move(manager)),
        binding_(detail::Bind(manager_, name, std::move(options), detail::DefaultNames<T>())) {}

  /// Returns the collection's name.
  [[nodiscard]] const std::string& name() const { return bound()->collection->name(); }
  /// Returns the manager.
  [[nodiscard]] const LockManager& manager() const {
    static_cast<void>(bound());
    return manager_;
  }

  /// @name Locking one document
  /// @{

  /// Locks a document that exists.
  [[nodiscard]] Locked<T> Lock(KeyArg key, const LockOptions& options = {},
                               std::stop_token stop = {}) const {
    return Acquire(Spec(options, std::move(key).Take()), std::move(stop));
  }
  /// Not a call: says where the options and the stop token belong.
  Locked<T> Lock(KeyArg, detail::MisplacedStop) const;
  /// Not a call: says where the options and the stop token belong.
  template <std::same_as<T> E>
  Locked<T> Lock(KeyArg, const E&, detail::MisplacedStop) const;
  /// Not a call: says where the options and the stop token belong.
  template <std::same_as<T> E>
    requires KeyedEntity<E>
  Locked<T> Lock(const E&, detail::MisplacedStop) const;
  /// Locks a document; creates it from the entity if it is missing.
  template <std::same_as<T> E>
  [[nodiscard]] Locked<T> Lock(KeyArg key, const E& entity, const LockOptions& options = {},
                               std::stop_token stop = {}) const {
    return Acquire(Spec(options, std::move(key).Take(), entity), std::move(stop));
  }
  /// Locks the entity's document; creates it from the entity if it is missing.
  template <std::same_as<T> E>
    requires KeyedEntity<E>
  [[nodiscard]] Locked<T> Lock(const E& entity, const LockOptions& options = {},
                               std::stop_token stop = {}) const {
    return Acquire(Spec(options, KeyOf(entity), entity), std::move(stop));
  }

  /// Lock() that returns nothing if the lock is busy.
  [[nodiscard]] std::optional<Locked<T>> TryLock(KeyArg key, const LockOptions& options = {},
                                                 std::stop_token stop = {}) const {
    return TryAcquire(Spec(options, std::move(key).Take()), std::move(stop));
  }
  /// Not a call: says where the options and the stop token belong.
  std::optional<Locked<T>> TryLock(KeyArg, detail::MisplacedStop) const;
  /// Not a call: says where the options and the stop token belong.
  template <std::same_as<T> E>
  std::optional<Locked<T>> TryLock(KeyArg, const E&, detail::MisplacedStop) const;
  /// Not a call: says where the options and the stop token belong.
  template <std::same_as<T> E>
    requires KeyedEntity<E>
  std::optional<Locked<T>> TryLock(const E&, detail::MisplacedStop) const;
  /// Lock() that returns nothing if the lock is busy.
  template <std::same_as<T> E>
  [[nodiscard]] std::optional<Locked<T>> TryLock(KeyArg key, const E& entity,
                                                 const LockOptions& options = {},
                                                 std::stop_token stop = {}) const {
    return TryAcquire(Spec(options, std::move(key).Take(), entity), std::move(stop));
  }
  /// Lock() that returns nothing if the lock is busy.
  template <std::same_as<T> E>
    requires KeyedEntity<E>
  [[nodiscard]] std::optional<Locked<T>> TryLock(const E& entity, const LockOptions& options = {},
                                                 std::stop_token stop = {}) const {
    return TryAcquire(Spec(options, KeyOf(entity), entity), std::move(stop));
  }

  /// Lock() with a completion token of signature `void(std::exception_ptr, Locked<T>)`.
  template <detail::TokenFor<Locked<T>> Token = detail::DefaultToken>
  auto LockAsync(KeyArg key, const LockOptions& options = {}, Token&& token = Token()) const {
    return AcquireAsync(Spec(options, std::move(key).Take()), std::forward<Token>(token));
  }
  /// As above, with default options.
  template <detail::TokenFor<Locked<T>> Token>
    requires(!std::same_as<std::remove_cvref_t<Token>, T>)
  auto LockAsync(KeyArg key, Token&& token) const {
    return AcquireAsync(Spec({}, std::move(key).Take()), std::forward<Token>(token));
  }
  /// Lock() with an entity and a completion token.
  template <std::same_as<T> E, detail::TokenFor<Locked<T>> Token = detail::DefaultToken>
  auto LockAsync(KeyArg key, const E& entity, const LockOptions& options = {},
                 Token&& token = Token()) const {
    return AcquireAsync(Spec(options, std::move(key).Take(), entity), std::forward<Token>(token));
  }
  /// As above, with default options.
  template <std::same_as<T> E, detail::TokenFor<Locked<T>> Token>
  auto LockAsync(KeyArg key, const E& entity, Token&& token) const {
    return AcquireAsync(Spec({}, std::move(key).Take(), entity), std::forward<Token>(token));
  }
  /// Lock() with an entity that knows its key and a completion token.
  template <std::same_as<T> E, detail::TokenFor<Locked<T>> Token = detail::DefaultToken>
    requires KeyedEntity<E>
  auto LockAsync(const E& entity, const LockOptions& options = {}, Token&& token = Token()) const {
    return AcquireAsync(Spec(options, KeyOf(entity), entity), std::forward<Token>(token));
  }
  /// As above, with default options.
  template <std::same_as<T> E, detail::TokenFor<Locked<T>> Token>
    requires(KeyedEntity<E> && !std::same_as<std::remove_cvref_t<Token>, T>)
  auto LockAsync(const E& entity, Token&& token) const {
    return AcquireAsync(Spec({}, KeyOf(entity), entity), std::forward<Token>(token));
  }
  /// Not a call: says where the options and the stop token belong.
  void LockAsync(KeyArg, detail::MisplacedStop) const;
  /// TryLock() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<Locked<T>>)`.
  template <detail::TokenFor<std::optional<Locked<T>>> Token = detail::DefaultToken>
  auto TryLockAsync(KeyArg key, const LockOptions& options = {}, Token&& token = Token()) const {
    return TryAcquireAsync(Spec(options, std::move(key).Take()), std::forward<Token>(token));
  }
  /// TryLock() with an entity and a completion token.
  template <std::same_as<T> E,
            detail::TokenFor<std::optional<Locked<T>>> Token = detail::DefaultToken>
  auto TryLockAsync(KeyArg key, const E& entity, const LockOptions& options = {},
                    Token&& token = Token()) const {
    return TryAcquireAsync(Spec(options, std::move(key).Take(), entity),
                           std::forward<Token>(token));
  }
  /// Not a call: says where the options and the stop token belong.
  void TryLockAsync(KeyArg, detail::MisplacedStop) const;

  /// Locks, calls `f(T&)`, stores the entity, unlocks, and returns what `f` returned. If `f`
  /// throws, the lock is released, the document stays as it was, and the exception propagates.
  ///
  /// An `f` that cannot change the entity, or whose work is not done when it returns, does not
  /// compile: one that takes the entity by value or as const, returns a new T, or is a coroutine. A
  /// parameter that the type of `f` hides cannot be checked (a by-value lambda in a
  /// `std::function<void(T&)>`).
  template <class F>
  auto With(KeyArg key, F&& f, const LockOptions& options = {}, std::stop_token stop = {}) const {
    static_assert(kFitsWith<F>);
    return RunWith(Lock(Key(std::move(key).Take()), options, std::move(stop)), std::forward<F>(f));
  }
  /// Not a call: says where the options and the stop token belong.
  template <class F>
  void With(KeyArg, F&&, detail::MisplacedStop) const;
  /// Not a call: says where the options and the stop token belong.
  template <std::same_as<T> E, class F>
  void With(KeyArg, const E&, F&&, detail::MisplacedStop) const;
  /// As above; creates the document from the entity if it is missing.
  template <std::same_as<T> E, class F>
  auto With(KeyArg key, const E& entity, F&& f, const LockOptions& options = {},
            std::stop_token stop = {}) const {
    static_assert(kFitsWith<F>);
    return RunWith(Lock(Key(std::move(key).Take()), entity, options, std::move(stop)),
                   std::forward<F>(f));
  }
  /// As above, for an entity that knows its key.
  template <std::same_as<T> E, class F>
    requires KeyedEntity<E>
  auto With(const E& entity, F&& f, const LockOptions& options = {},
            std::stop_token stop = {}) const {
    return With(KeyOf(entity), entity, std::forward<F>(f), options, std::move(stop));
  }
  /// Not a call: says where the options and the stop token belong.
  template <std::same_as<T> E, class F>
    requires KeyedEntity<E>
  void With(const E&, F&&, detail::MisplacedStop) const;
  /// With() for a coroutine: `f(T&)` returns a boost::asio::awaitable, and so does this. The call
  /// checks options and keys; the lock is taken when the result is awaited. Per-operation
  /// cancellation ends the wait. In a coroutine, put `f` in a variable first; it is copied or
  /// moved, and called as an lvalue. What With says about an `f` that does not compile holds here,
  /// for the value that is awaited.
  template <class F>
  auto WithAsync(KeyArg key, F f, const LockOptions& options = {}) const {
    return StartWith(Spec(options, std::move(key).Take()), std::move(f));
  }
  /// As above; creates the document from the entity if it is missing.
  template <std::same_as<T> E, class F>
  auto WithAsync(KeyArg key, const E& entity, F f, const LockOptions& options = {}) const {
    return StartWith(Spec(options, std::move(key).Take(), entity), std::move(f));
  }
  /// As above, for an entity that knows its key.
  template <std::same_as<T> E, class F>
    requires KeyedEntity<E>
  auto WithAsync(const E& entity, F f, const LockOptions& options = {}) const {
    return StartWith(Spec(options, KeyOf(entity), entity), std::move(f));
  }
  /// Not a call: says where the options and the stop token belong.
  template <class F>
  void WithAsync(KeyArg, F, detail::MisplacedStop) const;
  /// @}

  /// @name Releasing
  /// @{

  /// `handle.Release()`; see Locked for what it throws and when the handle keeps the lock.
  void ReleaseLock(Locked<T>& handle) const { handle.Release(); }
  /// Consumes the handle. If storing fails for a reason that would leave the lock held, the lock is
  /// released as well, and the document stays as it was.
  void ReleaseLock(Locked<T>&& handle) const {
    Locked<T> mine = std::move(handle);
    mine.Release();
  }
  /// Stores T's fields and unlocks, using the lock that the entity carries in its LockFields; needs
  /// no handle. Fields of the document that T does not write stay, at the top level: it does not
  /// read what is stored, so a member of T's that is an object is replaced. A lock that has expired
  /// can still be released if no other client has taken it.
  /// @throws LockException kNotOwner if the entity carries no lock id, or that id does not, or no
  /// longer, lock the document: nothing was written.
  template <std::same_as<T> E>
    requires(KeyedEntity<E> && LockCarryingEntity<E>)
  void ReleaseLock(const E& entity) const {
    detail::ThrowIf(detail::ReleaseByValue(bound()->engine, ReleaseOf(entity)));
  }
  /// ReleaseLock() with a completion token of signature `void(std::exception_ptr)`.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto ReleaseLockAsync(Locked<T>& handle, Token&& token = Token()) const {
    return handle.ReleaseAsync(std::forward<Token>(token));
  }
  /// As above; consumes the handle, unless the call itself throws.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto ReleaseLockAsync(Locked<T>&& handle, Token&& token = Token()) const {
    Body body = handle.active().MakeBody();
    return Locked<T>::WriteAsync(WriteKind::kRelease, std::move(body),
                                 typename Locked<T>::EndedFn{std::move(handle.state_)},
                                 std::forward<Token>(token));
  }
  /// As above, by value.
  template <std::same_as<T> E, detail::TokenFor<void> Token = detail::DefaultToken>
    requires(KeyedEntity<E> && LockCarryingEntity<E>)
  auto ReleaseLockAsync(const E& entity, Token&& token = Token()) const {
    return detail::Initiate(bound()->engine,
                            detail::ValueReleaseOperation{bound()->engine, ReleaseOf(entity)},
                            std::forward<Token>(token));
  }
  /// @}

  /// @name Locking several documents
  /// @{

  /// Locks all documents or none. It locks them in the order of the keys, so that two callers
  /// cannot deadlock, each key once, under one timeout (`wait`). While one is not to be had, it
  /// keeps the others for LockOptions::hold_while_waiting at most. Returns the handles in the order
  /// of the sorted keys. The error names the key that failed. lock_all.h has LockAll for documents
  /// of several repositories, in the order of the arguments.
  [[nodiscard]] std::vector<Locked<T>> LockAll(std::vector<Key> keys,
                                               const LockOptions& options = {},
                                               std::stop_token stop = {}) const {
    return detail::LockHere(LockAllOp(options, std::move(keys)), std::move(stop));
  }
  /// Not a call: says where the options and the stop token belong.
  std::vector<Locked<T>> LockAll(const std::vector<Key>&, detail::MisplacedStop) const;
  /// LockAll() that returns nothing if a lock is busy.
  [[nodiscard]] std::optional<std::vector<Locked<T>>> TryLockAll(std::vector<Key> keys,
                                                                 const LockOptions& options = {},
                                                                 std::stop_token stop = {}) const {
    return detail::LockHere(detail::TryAllOperation{LockAllOp(options, std::move(keys))},
                            std::move(stop));
  }
  /// Not a call: says where the options and the stop token belong.
  std::optional<std::vector<Locked<T>>> TryLockAll(const std::vector<Key>&,
                                                   detail::MisplacedStop) const;
  /// LockAll() with a completion token of signature
  /// `void(std::exception_ptr, std::vector<Locked<T>>)`.
  template <detail::TokenFor<std::vector<Locked<T>>> Token = detail::DefaultToken>
  auto LockAllAsync(std::vector<Key> keys, const LockOptions& options = {},
                    Token&& token = Token()) const {
    return detail::Initiate(bound()->engine, LockAllOp(options, std::move(keys)),
                            std::forward<Token>(token));
  }
  /// TryLockAll() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<std::vector<Locked<T>>>)`.
  template <detail::TokenFor<std::optional<std::vector<Locked<T>>>> Token = detail::DefaultToken>
  auto TryLockAllAsync(std::vector<Key> keys, const LockOptions& options = {},
                       Token&& token = Token()) const {
    return detail::Initiate(bound()->engine,
                            detail::TryAllOperation{LockAllOp(options, std::move(keys))},
                            std::forward<Token>(token));
  }
  /// Not a call: says where the options and the stop token belong.
  void LockAllAsync(const std::vector<Key>&, detail::MisplacedStop) const;
  /// Not a call: says where the options and the stop token belong.
  void TryLockAllAsync(const std::vector<Key>&, detail::MisplacedStop) const;

  /// Returns a document that exists, for LockAll of several repositories (lock_all.h). Nothing is
  /// sent yet.
  [[nodiscard]] LockTarget<Locked<T>> At(KeyArg key) const {
    return Target(std::move(key).Take(), {});
  }
  /// As above; LockAll creates the document from the entity if it is missing. The entity is read
  /// now.
  template <std::same_as<T> E>
    requires KeyedEntity<E>
  [[nodiscard]] LockTarget<Locked<T>> At(const E& entity) const {
    Key key = KeyOf(entity);
    Body fresh = FreshOf(key, entity);
    return Target(std::move(key), std::move(fresh));
  }
  /// @}

  /// @name Locking the next document
  /// @{

  /// Locks the first free document that matches, in the filter's order. It skips live locks and
  /// documents whose lock fields are malformed (Status() shows them), and two callers never get the
  /// same document. Waits up to `options.wait` for one to appear, to become free, or to fall due
  /// (Filter::Due).
  /// @throws NotFoundException if there is none by then. @throws DocumentException if T cannot read
  /// the document: it is released, and stands first again. DocumentException::key() tells which one
  /// to put aside.
  [[nodiscard]] Locked<T> LockNext(const Filter& filter, const LockOptions& options = {},
                                   std::stop_token stop = {}) const {
    auto result = AcquireNext(filter, options, std::move(stop));
    detail::ThrowIfNext(result.failure);
    return Wrap()(std::move(result.grant));
  }
  /// Not a call: says where the options and the stop token belong.
  Locked<T> LockNext(const Filter&, detail::MisplacedStop) const;
  /// LockNext() that returns nothing if there is no such document.
  [[nodiscard]] std::optional<Locked<T>> TryLockNext(const Filter& filter,
                                                     const LockOptions& options = {},
                                                     std::stop_token stop = {}) const {
    auto result = AcquireNext(filter, options, std::move(stop));
    if (detail::IsNothingFree(result.failure)) return std::nullopt;
    detail::ThrowIf(result.failure);
    return Wrap()(std::move(result.grant));
  }
  /// Not a call: says where the options and the stop token belong.
  std::optional<Locked<T>> TryLockNext(const Filter&, detail::MisplacedStop) const;
  /// LockNext() with a completion token of signature `void(std::exception_ptr, Locked<T>)`.
  template <detail::TokenFor<Locked<T>> Token = detail::DefaultToken>
  auto LockNextAsync(const Filter& filter, const LockOptions& options = {},
                     Token&& token = Token()) const {
    return detail::Initiate(bound()->engine, NextOp(filter, options), std::forward<Token>(token));
  }
  /// TryLockNext() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<Locked<T>>)`.
  template <detail::TokenFor<std::optional<Locked<T>>> Token = detail::DefaultToken>
  auto TryLockNextAsync(const Filter& filter, const LockOptions& options = {},
                        Token&& token = Token()) const {
    return detail::Initiate(bound()->engine,
                            detail::TryLockOperation<WrapGrant>{NextOp(filter, options)},
                            std::forward<Token>(token));
  }
  /// Not a call: says where the options and the stop token belong.
  void LockNextAsync(const Filter&, detail::MisplacedStop) const;
  /// Not a call: says where the options and the stop token belong.
  void TryLockNextAsync(const Filter&, detail::MisplacedStop) const;
  /// @}

  /// @name Reading
  /// Reads do not wait for locks. Those by key see everything that was acknowledged before they
  /// began. Those by filter see what is stored for good; on MongoDB they may miss the newest of it
  /// while a primary is deposed (docs/mongodb.md).
  /// @{

  /// Returns the document, or nothing. @throws DocumentException, StoreException
  [[nodiscard]] std::optional<Snapshot<T>> Find(KeyArg key) const {
    Key wanted = std::move(key).Take();
    auto result = detail::Read(bound()->engine, *bound()->collection, wanted);
    return detail::ReadOperation<WrapRow>{bound(), std::move(wanted), WrapRow{bound()}}.Finish(
        std::move(result));
  }
  /// Returns what matches, in the filter's order, and as it was at one moment: of a Transaction it
  /// shows all writes or none. (MongoDB shows one moment in a replica set of 5.0 or newer.) It is
  /// read in one call of the store, and all kept in memory; for many documents there is ForEach.
  /// @throws DocumentException, StoreException
  [[nodiscard]] std::vector<Snapshot<T>> Find(const Filter& filter) const {
    std::vector<Snapshot<T>> found;
    for (QueryRow& row :
         detail::QueryAtOnce(bound()->engine, *bound()->collection, Stored(filter))) {
      found.push_back(WrapRow{bound()}(std::move(row)));
    }
    return found;
  }
  /// Calls `f(Snapshot<T>&)` for each document that matches, in the filter's order, until `f`
  /// returns false. `f` returns a bool or nothing. An exception of `f` ends the walk and
  /// propagates.
  ///
  /// Documents are read page by page, each page in a call of its own. While `f` runs, no
  /// transaction, cursor or connection is open: `f` may call the library, write to the same
  /// documents, and take its time. So the walk sees no single moment. A document that is there all
  /// the time, and whose field of the order does not change, is shown once. In the order of keys no
  /// document is shown twice.
  /// @throws StoreException when a page cannot be read. Go on behind the last document that `f` was
  /// given, with Filter::After.
  /// @throws DocumentException
  template <class F>
  void ForEach(const Filter& filter, F&& f) const {
    static_assert(detail::MarkedCheck<F&, Snapshot<T>&>::value);
    static_assert(detail::CallableSomehow<F&, Snapshot<T>&>,
                  "doclock: f cannot be called with a Snapshot. Write it as [](Snapshot<T>& "
                  "snapshot) { ... }; the entity is *snapshot.");
    using Result = detail::ResultOf<F&, Snapshot<T>&>;
    static_assert(detail::WalkCheck<Result>::value);
    detail::Query(bound()->engine, *bound()->collection, Stored(filter),
                  [&](QueryRow&& row) -> bool {
                    Snapshot<T> snapshot = WrapRow{bound()}(std::move(row));
                    if constexpr (std::is_void_v<Result>) {
                      std::invoke(f, snapshot);
                      return true;
                    } else {
                      return std::invoke(f, snapshot);
                    }
                  });
  }
  /// Find() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<Snapshot<T>>)`.
  template <detail::TokenFor<std::optional<Snapshot<T>>> Token = detail::DefaultToken>
  auto FindAsync(KeyArg key, Token&& token = Token()) const {
    return detail::Initiate(
        bound()->engine,
        detail::ReadOperation<WrapRow>{bound(), std::move(key).Take(), WrapRow{bound()}},
        std::forward<Token>(token));
  }
  /// Find() with a completion token of signature `void(std::exception_ptr,
  /// std::vector<Snapshot<T>>)`.
  template <detail::TokenFor<std::vector<Snapshot<T>>> Token = detail::DefaultToken>
  auto FindAsync(const Filter& filter, Token&& token = Token()) const {
    return detail::Initiate(
        bound()->engine, detail::QueryOperation<WrapRow>{bound(), Stored(filter), WrapRow{bound()}},
        std::forward<Token>(token));
  }
  /// @}

  /// @name Writing without a lock
  /// A live lock refuses Save and Erase (LockException kBusy), and Update waits for it. An expired
  /// lock does not: the write clears it and ends its holder's right to write. Insert meets no lock:
  /// a document that exists is a ConflictException. Each may throw StoreException, and
  /// InDoubtException when the write may or may not have happened.
  /// @{

  /// Creates a document; returns its version. @throws ConflictException if it exists.
  std::int64_t Insert(KeyArg key, const T& entity) const {
    return Saved(detail::Save(bound()->engine, InsertSpec(std::move(key).Take(), entity)));
  }
  /// Creates the entity's document; returns its version. @throws ConflictException if it exists.
  template <std::same_as<T> E>
  std::int64_t Insert(const E& entity) const {
    return Insert(KeyOf(entity), entity);
  }
  /// Stores the snapshot's entity if the document is unchanged since it was read. The snapshot then
  /// has the new version and can be saved again.
  /// @throws ConflictException if the document was changed, NotFoundException if it was erased.
  void Save(Snapshot<T>& snapshot) const {
    auto spec = ReplaceSpec(snapshot);
    Body body = spec.body;
    snapshot.Follow(std::move(body), Saved(detail::Save(bound()->engine, std::move(spec))));
  }
  /// Save() that returns false if the document was changed or is locked.
  [[nodiscard]] bool TrySave(Snapshot<T>& snapshot) const {
    auto spec = ReplaceSpec(snapshot);
    Body body = spec.body;
    const auto result = detail::Save(bound()->engine, std::move(spec));
    if (detail::IsOvertaken(result.failure)) return false;
    snapshot.Follow(std::move(body), Saved(result));
    return true;
  }
  /// Deletes a document, whatever its version; returns whether there was one.
  bool Erase(KeyArg key) const {
    return Erased(detail::Save(bound()->engine, EraseSpec(std::move(key).Take())));
  }
  /// Deletes a document if it is unchanged since it was read.
  /// @throws ConflictException if the document was changed, NotFoundException if it is gone.
  void Erase(const Snapshot<T>& snapshot) const {
    detail::ThrowIf(detail::Save(bound()->engine, EraseSpec(snapshot)).failure);
  }
  /// Reads the document, calls `f(T&)`, and stores the result. If another client changed the
  /// document meanwhile, it begins again. After RepositoryOptions::update_retries attempts, or when
  /// it meets a lock, it takes the lock, waiting up to `update_wait`.
  ///
  /// So **f may be called several times**, each time with a fresh entity, and must not have other
  /// effects. Once the outcome of a write is in doubt, `f` is not called again: InDoubtException.
  /// An exception of `f` ends the update, and nothing is written. `f` returns nothing: a number, a
  /// pointer or a reference that it returns is ignored (false does not end the update), and an
  /// object does not compile, because it would be lost. What With says about an `f` that does not
  /// compile holds here.
  /// @throws NotFoundException, and what Save and Lock throw.
  template <class F>
  void Update(KeyArg key, F&& f, std::stop_token stop = {}) const {
    static_assert(kFitsUpdate<F&>);
    detail::UpdateDocument(*bound(), UpdateOf(std::move(key).Take(), {}, std::addressof(f)),
                           std::move(stop));
  }
  /// As above; if the document is missing, `f` is given the entity as it would be read, and what
  /// `f` makes of it is inserted. If a document is created by taking the lock, and `f` throws, it
  /// stays as the entity.
  template <std::same_as<T> E, class F>
  void Update(KeyArg key, const E& entity, F&& f, std::stop_token stop = {}) const {
    static_assert(kFitsUpdate<F&>);
    Key wanted = std::move(key).Take();
    Body initial = FreshOf(wanted, entity);
    detail::UpdateDocument(*bound(),
                           UpdateOf(std::move(wanted), std::move(initial), std::addressof(f)),
                           std::move(stop));
  }
  /// As above, for an entity that knows its key.
  template <std::same_as<T> E, class F>
    requires KeyedEntity<E>
  void Update(const E& entity, F&& f, std::stop_token stop = {}) const {
    Update(KeyOf(entity), entity, std::forward<F>(f), std::move(stop));
  }

  /// Insert() with a completion token of signature `void(std::exception_ptr, std::int64_t)`.
  template <detail::TokenFor<std::int64_t> Token = detail::DefaultToken>
  auto InsertAsync(KeyArg key, const T& entity, Token&& token = Token()) const {
    return SaveSpecAsync(InsertSpec(std::move(key).Take(), entity), SavedFn{},
                         std::forward<Token>(token));
  }
  /// As above, for an entity that knows its key.
  template <std::same_as<T> E, detail::TokenFor<std::int64_t> Token = detail::DefaultToken>
  auto InsertAsync(const E& entity, Token&& token = Token()) const {
    return InsertAsync(KeyOf(entity), entity, std::forward<Token>(token));
  }
  /// Save() with a completion token of signature `void(std::exception_ptr)`. Do not move, destroy
  /// or use the snapshot until the operation completes.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto SaveAsync(Snapshot<T>& snapshot, Token&& token = Token()) const {
    auto spec = ReplaceSpec(snapshot);
    FollowFn after{&snapshot, spec.body};
    return SaveSpecAsync(std::move(spec), std::move(after), std::forward<Token>(token));
  }
  /// TrySave() with a completion token of signature `void(std::exception_ptr, bool)`. Do not move,
  /// destroy or use the snapshot until the operation completes.
  template <detail::TokenFor<bool> Token = detail::DefaultToken>
  auto TrySaveAsync(Snapshot<T>& snapshot, Token&& token = Token()) const {
    auto spec = ReplaceSpec(snapshot);
    TryFollowFn after{{&snapshot, spec.body}};
    return SaveSpecAsync(std::move(spec), std::move(after), std::forward<Token>(token));
  }
  /// Erase() with a completion token of signature `void(std::exception_ptr, bool)`.
  template <detail::TokenFor<bool> Token = detail::DefaultToken>
  auto EraseAsync(KeyArg key, Token&& token = Token()) const {
    return SaveSpecAsync(EraseSpec(std::move(key).Take()), ErasedFn{}, std::forward<Token>(token));
  }
  /// Erase() of a snapshot with a completion token of signature `void(std::exception_ptr)`.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto EraseAsync(const Snapshot<T>& snapshot, Token&& token = Token()) const {
    return SaveSpecAsync(EraseSpec(snapshot), CheckedFn{}, std::forward<Token>(token));
  }
  /// Update() with a completion token of signature `void(std::exception_ptr)`. `f` is copied or
  /// moved, and called where the handler runs (with use_future: on the notifier thread). In a
  /// coroutine, put `f` in a variable first.
  template <detail::NoEntity<T> F, detail::TokenFor<void> Token = detail::DefaultToken>
  auto UpdateAsync(KeyArg key, F f, Token&& token = Token()) const {
    static_assert(kFitsUpdate<F&>);
    return StartUpdate(UpdateOf(std::move(key).Take(), {}, std::make_shared<F>(std::move(f))),
                       std::forward<Token>(token));
  }
  /// As above; creates the document as Update() does.
  template <std::same_as<T> E, class F, detail::TokenFor<void> Token = detail::DefaultToken>
  auto UpdateAsync(KeyArg key, const E& entity, F f, Token&& token = Token()) const {
    static_assert(kFitsUpdate<F&>);
    Key wanted = std::move(key).Take();
    Body initial = FreshOf(wanted, entity);
    return StartUpdate(
        UpdateOf(std::move(wanted), std::move(initial), std::make_shared<F>(std::move(f))),
        std::forward<Token>(token));
  }
  /// As above, for an entity that knows its key.
  template <std::same_as<T> E, class F, detail::TokenFor<void> Token = detail::DefaultToken>
    requires KeyedEntity<E>
  auto UpdateAsync(const E& entity, F f, Token&& token = Token()) const {
    return UpdateAsync(KeyOf(entity), entity, std::move(f), std::forward<Token>(token));
  }
  /// @}

  /// @name Housekeeping
  /// @{

  /// Creates an index over fields (named as in Filter) unless it exists. Name the fields that
  /// filters compare for equality first, then the one they order by. Only a unique index affects
  /// correctness; others affect speed.
  /// @throws std::invalid_argument for a bad field, one that is named twice, or more than 31
  /// besides the key; ConflictException or StoreException if stored documents violate it
  void EnsureIndex(std::vector<std::string> fields, bool unique = false) const {
    detail::EnsureIndexOf(*bound(), detail::Codec<T>::StoredFields(std::move(fields)), unique);
  }
  /// Creates, unless they exist, the indexes that speed up Purge, and those that speed up Find,
  /// ForEach and LockNext for filters of these forms (the values do not matter). On MongoDB each
  /// costs every write a little; stores that need no index for locks create none. Affects speed
  /// only.
  /// @throws StoreException
  void EnsureIndexes(const std::vector<Filter>& searches = {}) const {
    std::vector<Filter> stored;
    for (const Filter& search : searches) stored.push_back(Stored(search));
    detail::EnsureIndexesOf(*bound(), stored);
  }
  /// Clears what expired locks left in documents; returns how many it cleared. Never touches a live
  /// lock or a version. Not needed for correctness.
  std::int64_t Purge() const { return detail::PurgeAll(*bound()); }
  /// Purge() as LockProvider has it. With PurgeOptions::forget it also deletes documents that hold
  /// nothing besides their lock and were not locked for `idle_for`.
  /// @throws std::invalid_argument naming the option, StoreException
  PurgeResult Purge(const PurgeOptions& options) const {
    return detail::PurgeOf(*bound(), options);
  }
  /// Returns the locks, held or expired, that match, ordered by key.
  /// @throws std::invalid_argument for a filter with a name and a key, StoreException
  [[nodiscard]] std::vector<LockStatus> Status(const LockFilter& filter = {}) const {
    return detail::StatusOf(*bound(), filter);
  }
  /// Ends another client's lock. The holder finds out at its next renewal or write (kLost). The
  /// document's body stays as it is. Returns the lock as it was. `by` is used as by
  /// LockProvider::Break, for documents without a body.
  /// @throws NotFoundException if there is no such document, LockException kNotOwner if its lock is
  /// not held or changed hands meanwhile, StoreException, InDoubtException
  LockStatus Break(KeyArg key, std::string_view by = {}) const {
    return detail::Break(*bound(), std::move(key).Take(), by);
  }
  /// Renews the lease of the lock (or the share) with this id from now on, with this length (zero:
  /// its own). A renewal never shortens a lease, and does not revive one that has expired. The
  /// handle does not learn of it, and goes on renewing. Returns the lock. `lock.version` is
  /// ignored.
  /// @throws LockException kNotOwner if there is no lock id or it does not lock the document;
  /// NotFoundException if there is no such document; std::invalid_argument for a ttl that is not
  /// kMinTtl to kMaxTtl; StoreException; InDoubtException (either lease may hold)
  LockStatus RenewLock(KeyArg key, const LockFields& lock, Duration ttl = {}) const {
    return detail::RenewLock(*bound(), std::move(key).Take(), lock, ttl);
  }
  /// Releases the lock (or the share) with this id without a handle, and leaves the body as it is.
  /// Releases also a lock that has expired, if no other client has taken it. Unless `lock.version`
  /// is 0, an exclusive lock must be at that version. Its handle finds out at its next renewal or
  /// write (kLost). Returns the lock as it was.
  /// @throws LockException kNotOwner if there is no lock id, or it does not lock the document at
  /// that version; NotFoundException if there is no such document; StoreException; InDoubtException
  /// (the lock may have been released)
  LockStatus ReleaseLock(KeyArg key, const LockFields& lock) const {
    return detail::ReleaseLock(*bound(), std::move(key).Take(), lock);
  }
  /// @}

  /// Makes a snapshot of a row of this collection. Not for users: see Read.
  [[nodiscard]] static Snapshot<T> Shown(const detail::BindingPtr& binding, QueryRow row) {
    return Snapshot<T>(*binding->collection, std::move(row));
  }

 private:
  friend class Transaction;

  struct WrapGrant {
    Binding binding;
    Locked<T> operator()(detail::Grant grant) const { return Locked<T>(binding, std::move(grant)); }
  };
  struct WrapRow {
    Binding binding;
    Snapshot<T> operator()(QueryRow row) const {
      return Snapshot<T>(*binding->collection, std::move(row));
    }
  };
  struct SavedFn {
    std::int64_t operator()(const detail::SaveResult& result) const { return Saved(result); }
  };
  struct ErasedFn {
    bool operator()(const detail::SaveResult& result) const { return Erased(result); }
  };
  struct CheckedFn {
    void operator()(const detail::SaveResult& result) const { detail::ThrowIf(result.failure); }
  };
  struct FollowFn {
    Snapshot<T>* snapshot;
    Body body;
    void operator()(const detail::SaveResult& result) const {
      snapshot->Follow(body, Saved(result));
    }
  };
  struct TryFollowFn {
    FollowFn follow;
    bool operator()(const detail::SaveResult& result) const {
      if (detail::IsOvertaken(result.failure)) return false;
      follow(result);
      return true;
    }
  };

  [[nodiscard]] const Binding& bound() const {
    if (!binding_) detail::ThrowMovedFrom("LockingRepository");
    return binding_;
  }
  static Key KeyOf(const T& entity) {
    static_assert(detail::KnownKeyCheck<T>::value);
    if constexpr (KeyedEntity<T>) {
      return Key(EntityTraits<T>::GetKey(entity));
    } else {
      return {};
    }
  }
  [[nodiscard]] Body FreshOf(const Key& key, const T& entity) const {
    return detail::Codec<T>::Fresh(*bound()->collection, key, entity);
  }
  static Filter Stored(const Filter& filter) { return detail::Codec<T>::StoredFilter(filter); }
  [[nodiscard]] WrapGrant Wrap() const { return WrapGrant{bound()}; }

  [[nodiscard]] detail::AcquireSpec Spec(const LockOptions& options, Key key) const {
    return detail::SpecFor(*bound(), options, std::move(key));
  }
  [[nodiscard]] detail::AcquireSpec Spec(const LockOptions& options, Key key,
                                         const T& entity) const {
    Body fresh = FreshOf(key, entity);
    return detail::SpecFor(*bound(), options, std::move(key), std::move(fresh));
  }

  [[nodiscard]] LockTarget<Locked<T>> Target(Key key, Body insert) const {
    return {bound(), [binding = bound(), key = std::move(key),
                      insert = std::move(insert)](const LockOptions& options) {
              return detail::SpecFor(*binding, options, key, insert);
            }};
  }

  Locked<T> Acquire(detail::AcquireSpec spec, std::stop_token stop) const {
    auto result = detail::Acquire(bound()->engine, std::move(spec), std::move(stop));
    detail::ThrowIf(result.failure);
    return Wrap()(std::move(result.grant));
  }
  std::optional<Locked<T>> TryAcquire(detail::AcquireSpec spec, std::stop_token stop) const {
    auto result = detail::Acquire(bound()->engine, std::move(spec), std::move(stop));
    if (detail::IsBusy(result.failure)) return std::nullopt;
    detail::ThrowIf(result.failure);
    return Wrap()(std::move(result.grant));
  }
  template <class Token>
  auto AcquireAsync(detail::AcquireSpec spec, Token&& token) const {
    return detail::Initiate(bound()->engine,
                            detail::LockOperation<WrapGrant>{bound(), std::move(spec), Wrap()},
                            std::forward<Token>(token));
  }
  template <class Token>
  auto TryAcquireAsync(detail::AcquireSpec spec, Token&& token) const {
    return detail::Initiate(bound()->engine,
                            detail::TryLockOperation<WrapGrant>{{bound(), std::move(spec), Wrap()}},
                            std::forward<Token>(token));
  }

  detail::AcquireResult AcquireNext(const Filter& filter, const LockOptions& options,
                                    std::stop_token stop) const {
    return detail::AcquireNext(bound()->engine, detail::SpecFor(*bound(), options, Stored(filter)),
                               std::move(stop));
  }
  [[nodiscard]] detail::LockOperation<WrapGrant> NextOp(const Filter& filter,
                                                        const LockOptions& options) const {
    return {bound(), detail::SpecFor(*bound(), options, Stored(filter)), Wrap(), true};
  }

  [[nodiscard]] detail::LockAllOperation<WrapGrant> LockAllOp(const LockOptions& options,
                                                              std::vector<Key> keys) const {
    return {bound(), detail::SpecsFor(Spec(options, Key()), std::move(keys)), Wrap()};
  }

  template <class F>
  static constexpr bool kFitsWith =
      detail::EditCheck<F, T>::value && detail::FinishedCheck<detail::ResultOf<F, T&>>::value &&
      detail::InPlaceCheck<detail::ResultOf<F, T&>, T>::value;
  template <class F>
  static constexpr bool kFitsUpdate =
      detail::EditCheck<F, T>::value && detail::FinishedCheck<detail::ResultOf<F, T&>>::value &&
      detail::NothingLostCheck<detail::ResultOf<F, T&>>::value;

  template <class F>
  auto StartWith(detail::AcquireSpec spec, F f) const {
    using Result = detail::ResultOf<F&, T&>;
    using Check = detail::CoroutineCheck<Result>;
    static_assert(detail::EditCheck<F&, T>::value && Check::value &&
                  detail::InPlaceCheck<typename Check::Value, T>::value);
    return RunWithAsync<Result>(*this, std::move(spec), std::move(f));
  }
  template <class Result, class F>
  static Result RunWithAsync(LockingRepository self, detail::AcquireSpec spec, F f) {
    using Token = boost::asio::use_awaitable_t<typename Result::executor_type>;
    Locked<T> handle = co_await self.AcquireAsync(std::move(spec), Token());
    if constexpr (std::is_void_v<typename Result::value_type>) {
      co_await std::invoke(f, *handle);
      co_await handle.ReleaseAsync(Token());
    } else {
      auto result = co_await std::invoke(f, *handle);
      co_await handle.ReleaseAsync(Token());
      co_return result;
    }
  }

  template <class F>
  static auto RunWith(Locked<T> handle, F&& f) {
    if constexpr (std::is_void_v<detail::ResultOf<F, T&>>) {
      std::invoke(std::forward<F>(f), *handle);
      handle.Release();
    } else {
      decltype(auto) result = std::invoke(std::forward<F>(f), *handle);
      handle.Release();
      return std::decay_t<decltype(result)>(std::forward<decltype(result)>(result));
    }
  }

  template <class F>
  static Body Edited(const Collection& collection, const Key& key, const Body& base, F& f) {
    T entity = detail::Codec<T>::Read(collection, key, base);
    std::invoke(f, entity);
    return detail::Codec<T>::Over(collection, key, base, entity);
  }
  /// @param f points to what is called
  template <class P>
  [[nodiscard]] detail::UpdateSpec UpdateOf(Key key, Body initial, P f) const {
    auto edit = [f, key, collection = bound()->collection](const Body& base) {
      return Edited(*collection, key, base, *f);
    };
    return {std::move(key), std::move(edit), std::move(initial)};
  }
  template <class Token>
  auto StartUpdate(detail::UpdateSpec update, Token&& token) const {
    return detail::Initiate(bound()->engine, detail::UpdateOperation{bound(), std::move(update)},
                            std::forward<Token>(token));
  }

  template <class E>
  [[nodiscard]] detail::ValueRelease ReleaseOf(const E& entity) const {
    const LockFields& fields = entity.*(EntityTraits<E>::kLockFields);
    Key key = KeyOf(entity);
    Body body = FreshOf(key, entity);
    return {bound()->collection.get(), std::move(key), fields.id.value_or(Uuid{}), fields.version,
            std::move(body)};
  }

  [[nodiscard]] detail::SaveSpec InsertSpec(Key key, const T& entity) const {
    detail::SaveSpec spec;
    spec.collection = bound()->collection.get();
    spec.save = SaveKind::kInsert;
    spec.body = FreshOf(key, entity);
    spec.key = std::move(key);
    return spec;
  }
  [[nodiscard]] detail::SaveSpec EraseSpec(Key key) const {
    detail::SaveSpec spec;
    spec.collection = bound()->collection.get();
    spec.save = SaveKind::kErase;
    spec.key = std::move(key);
    return spec;
  }
  [[nodiscard]] detail::SaveSpec EraseSpec(const Snapshot<T>& snapshot) const {
    if (!snapshot) detail::ThrowEmptyHandle();
    detail::SaveSpec spec = EraseSpec(snapshot.key());
    spec.expected = snapshot.version();
    spec.born = snapshot.row_.born;
    return spec;
  }
  [[nodiscard]] detail::SaveSpec ReplaceSpec(const Snapshot<T>& snapshot) const {
    detail::SaveSpec spec = EraseSpec(snapshot);
    spec.save = SaveKind::kReplace;
    spec.base = snapshot.row_.body;
    spec.body = detail::Codec<T>::Over(*bound()->collection, snapshot.key(), spec.base, *snapshot);
    return spec;
  }
  template <class After, class Token>
  auto SaveSpecAsync(detail::SaveSpec spec, After after, Token&& token) const {
    return detail::Initiate(
        bound()->engine,
        detail::SaveOperation<After>{bound()->engine, std::move(spec), std::move(after)},
        std::forward<Token>(token));
  }

  static std::int64_t Saved(const detail::SaveResult& result) {
    detail::ThrowIf(result.failure);
    return result.version;
  }
  static bool Erased(const detail::SaveResult& result) {
    if (detail::IsMissing(result.failure)) return false;
    detail::ThrowIf(result.failure);
    return true;
  }

  LockManager manager_;
  Binding binding_;
};

}  // namespace doclock
