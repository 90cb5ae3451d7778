#pragma once

/// @file
/// The asynchronous verbs of a LockingRepository.

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "doclock/detail/documents.h"
#include "doclock/detail/misuse.h"

namespace doclock {

/// The asynchronous verbs of a LockingRepository, which is one. Each does what the verb of its name
/// does, and throws the same errors.
///
/// They take any Boost.Asio completion token, `use_future` by default. Its signature is
/// `void(std::exception_ptr, R)`, where R is what the other verb returns
/// (`void(std::exception_ptr)` for nothing). Where options are taken, they stand before the token.
///
/// The call checks options and entities, and turns entities into JSON, before it returns. It throws
/// errors in them; all other errors reach the token. A handler runs on its associated executor, or
/// on the manager's notifier thread if it has none. Its execution context must outlive the
/// operation, and a handler on the notifier thread must not throw. If an executor throws, the
/// handler is destroyed without a call (Asio's use_future then reports
/// std::future_errc::broken_promise), and a lock that it would have got is released. Per-operation
/// cancellation ends waits. In a coroutine, build an entity, and an `f`, in a variable first (GCC
/// 12 miscompiles some temporaries inside co_await).
template <class T>
class AsyncRepository : protected detail::MisplacedArguments<T> {
  using Misplaced = detail::MisplacedArguments<T>;
  using Documents = detail::Documents<T>;

 public:
  /// Lock() with a completion token of signature
  /// `void(std::exception_ptr, Locked<T>)`.
  template <detail::TokenFor<Locked<T>> Token = detail::DefaultToken>
  auto LockAsync(Target<T> target, const LockOptions& options = {}, Token&& token = Token()) const {
    return Start(documents_.Lock(std::move(target), options), std::forward<Token>(token));
  }
  /// Lock() with default options and a completion token of signature
  /// `void(std::exception_ptr, Locked<T>)`.
  template <detail::TokenFor<Locked<T>> Token>
    requires detail::NoEntity<Token, T>
  auto LockAsync(Target<T> target, Token&& token) const {
    return LockAsync(std::move(target), LockOptions(), std::forward<Token>(token));
  }
  /// TryLock() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<Locked<T>>)`.
  template <detail::TokenFor<std::optional<Locked<T>>> Token = detail::DefaultToken>
  auto TryLockAsync(Target<T> target, const LockOptions& options = {},
                    Token&& token = Token()) const {
    return Start(detail::TryLockOperation{documents_.Lock(std::move(target), options)},
                 std::forward<Token>(token));
  }
  /// TryLock() with default options and a completion token of signature
  /// `void(std::exception_ptr, std::optional<Locked<T>>)`.
  template <detail::TokenFor<std::optional<Locked<T>>> Token>
    requires detail::NoEntity<Token, T>
  auto TryLockAsync(Target<T> target, Token&& token) const {
    return TryLockAsync(std::move(target), LockOptions(), std::forward<Token>(token));
  }
  /// With() for a coroutine: `f(T&)` returns a boost::asio::awaitable, and so does this. The lock
  /// is taken when the result is awaited. `f` is copied or moved, and called as an lvalue.
  template <class F>
  auto WithAsync(Target<T> target, F f, const LockOptions& options = {}) const {
    static_assert(detail::kFitsWithAsync<F, T>);
    return Documents::RunWithAsync(documents_, documents_.Lock(std::move(target), options),
                                   std::move(f));
  }
  /// ReleaseLock() with a completion token of signature
  /// `void(std::exception_ptr)`.
  template <std::same_as<T> E, detail::TokenFor<void> Token = detail::DefaultToken>
    requires(KeyedEntity<E> && LockCarryingEntity<E>)
  auto ReleaseLockAsync(const E& entity, Token&& token = Token()) const {
    return Start(documents_.ReleaseLock(entity), std::forward<Token>(token));
  }

  /// LockAll() with a completion token of signature
  /// `void(std::exception_ptr, std::vector<Locked<T>>)`.
  template <detail::TokenFor<std::vector<Locked<T>>> Token = detail::DefaultToken>
  auto LockAllAsync(std::vector<Key> keys, const LockOptions& options = {},
                    Token&& token = Token()) const {
    return Start(documents_.LockAll(std::move(keys), options), std::forward<Token>(token));
  }
  /// TryLockAll() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<std::vector<Locked<T>>>)`.
  template <detail::TokenFor<std::optional<std::vector<Locked<T>>>> Token = detail::DefaultToken>
  auto TryLockAllAsync(std::vector<Key> keys, const LockOptions& options = {},
                       Token&& token = Token()) const {
    return Start(detail::TryAllOperation{documents_.LockAll(std::move(keys), options)},
                 std::forward<Token>(token));
  }
  /// LockNext() with a completion token of signature
  /// `void(std::exception_ptr, Locked<T>)`.
  template <detail::TokenFor<Locked<T>> Token = detail::DefaultToken>
  auto LockNextAsync(const Filter& filter, const LockOptions& options = {},
                     Token&& token = Token()) const {
    return Start(documents_.LockNext(filter, options), std::forward<Token>(token));
  }
  /// LockNext() with default options and a completion token of signature
  /// `void(std::exception_ptr, Locked<T>)`.
  template <detail::TokenFor<Locked<T>> Token>
  auto LockNextAsync(const Filter& filter, Token&& token) const {
    return LockNextAsync(filter, LockOptions(), std::forward<Token>(token));
  }
  /// TryLockNext() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<Locked<T>>)`.
  template <detail::TokenFor<std::optional<Locked<T>>> Token = detail::DefaultToken>
  auto TryLockNextAsync(const Filter& filter, const LockOptions& options = {},
                        Token&& token = Token()) const {
    return Start(detail::TryLockOperation{documents_.LockNext(filter, options)},
                 std::forward<Token>(token));
  }
  /// TryLockNext() with default options and a completion token of signature
  /// `void(std::exception_ptr, std::optional<Locked<T>>)`.
  template <detail::TokenFor<std::optional<Locked<T>>> Token>
  auto TryLockNextAsync(const Filter& filter, Token&& token) const {
    return TryLockNextAsync(filter, LockOptions(), std::forward<Token>(token));
  }

  /// Find() of a key, with a completion token of signature
  /// `void(std::exception_ptr, std::optional<Snapshot<T>>)`.
  template <detail::TokenFor<std::optional<Snapshot<T>>> Token = detail::DefaultToken>
  auto FindAsync(detail::KeyArg<T> key, Token&& token = Token()) const {
    return Start(documents_.Find(std::move(key).Take()), std::forward<Token>(token));
  }
  /// Find() of a filter, with a completion token of signature
  /// `void(std::exception_ptr, std::vector<Snapshot<T>>)`.
  template <detail::TokenFor<std::vector<Snapshot<T>>> Token = detail::DefaultToken>
  auto FindAsync(const Filter& filter, Token&& token = Token()) const {
    return Start(documents_.Find(filter), std::forward<Token>(token));
  }

  /// Insert() with a completion token of signature
  /// `void(std::exception_ptr, std::int64_t)`, the version.
  template <detail::TokenFor<std::int64_t> Token = detail::DefaultToken>
  auto InsertAsync(detail::KeyArg<T> key, const T& entity, Token&& token = Token()) const {
    return Start(documents_.Insert({std::move(key), entity}), std::forward<Token>(token));
  }
  /// Insert() of an entity that knows its key, with a completion token of signature
  /// `void(std::exception_ptr, std::int64_t)`, the version.
  template <std::same_as<T> E, detail::TokenFor<std::int64_t> Token = detail::DefaultToken>
  auto InsertAsync(const E& entity, Token&& token = Token()) const {
    return Start(documents_.Insert(entity), std::forward<Token>(token));
  }
  /// Save() with a completion token of signature
  /// `void(std::exception_ptr)`. Do not move, destroy or use the snapshot until the operation
  /// completes.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto SaveAsync(Snapshot<T>& snapshot, Token&& token = Token()) const {
    return Start(documents_.Save(snapshot), std::forward<Token>(token));
  }
  /// TrySave() with a completion token of signature
  /// `void(std::exception_ptr, bool)`. Do not
  /// move, destroy or use the snapshot until the operation completes.
  template <detail::TokenFor<bool> Token = detail::DefaultToken>
  auto TrySaveAsync(Snapshot<T>& snapshot, Token&& token = Token()) const {
    return Start(documents_.TrySave(snapshot), std::forward<Token>(token));
  }
  /// Erase() of a key, with a completion token of signature
  /// `void(std::exception_ptr, bool)`.
  template <detail::TokenFor<bool> Token = detail::DefaultToken>
  auto EraseAsync(detail::KeyArg<T> key, Token&& token = Token()) const {
    return Start(documents_.Erase(std::move(key).Take()), std::forward<Token>(token));
  }
  /// Erase() of a snapshot, with a completion token of signature
  /// `void(std::exception_ptr)`.
  template <detail::TokenFor<void> Token = detail::DefaultToken>
  auto EraseAsync(const Snapshot<T>& snapshot, Token&& token = Token()) const {
    return Start(documents_.Erase(snapshot), std::forward<Token>(token));
  }
  /// Update() with a completion token of signature
  /// `void(std::exception_ptr)`. `f` is copied or moved, and called where the handler runs (with
  /// use_future: on the notifier thread).
  template <detail::NoEntity<T> F, detail::TokenFor<void> Token = detail::DefaultToken>
  auto UpdateAsync(Target<T> target, F f, Token&& token = Token()) const {
    static_assert(detail::kFitsUpdate<F, T>);
    return Start(documents_.UpdateLater(std::move(target), std::move(f)),
                 std::forward<Token>(token));
  }

  // Errors in words, for arguments in the wrong place.
  using Misplaced::LockAsync, Misplaced::TryLockAsync, Misplaced::LockAllAsync,
      Misplaced::TryLockAllAsync, Misplaced::LockNextAsync, Misplaced::TryLockNextAsync,
      Misplaced::WithAsync, Misplaced::UpdateAsync;

 protected:
  /// For LockingRepository.
  explicit AsyncRepository(Documents documents) : documents_(std::move(documents)) {}

  /// For the library's own templates.
  [[nodiscard]] const Documents& documents() const noexcept { return documents_; }

 private:
  template <class Op, class Token>
  auto Start(Op op, Token&& token) const {
    return detail::Initiate(documents_.engine(), std::move(op), std::forward<Token>(token));
  }

  Documents documents_;
};

}  // namespace doclock
