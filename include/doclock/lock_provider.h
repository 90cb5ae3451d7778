#pragma once

/// @file
/// LockProvider: named locks, for things that are not documents.

#include <boost/asio/use_awaitable.hpp>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/misuse.h"
#include "doclock/held_lock.h"
#include "doclock/lock_admin.h"
#include "doclock/lock_all.h"
#include "doclock/lock_manager.h"
#include "doclock/named_mutex.h"

namespace doclock {

/// Where named locks are kept unless a LockProvider says otherwise.
inline constexpr const char* kDefaultLockCollection = "doclock_locks";

namespace detail {

/// A name as an argument: anything that converts to std::string_view, except a null pointer.
class NameArg {
 public:
  /// Converts.
  template <class A>
    requires(std::convertible_to<A, std::string_view> &&
             !std::same_as<std::remove_cvref_t<A>, std::nullptr_t>)
  NameArg(A&& name)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : text_(std::forward<A>(name)) {}
  /// Deleted: a null pointer, which 0 is too, names nothing.
  NameArg(std::nullptr_t) = delete;

  /// Returns the name, which lives as long as what was passed.
  operator std::string_view() const noexcept {  // NOLINT(google-explicit-constructor)
    return text_;
  }

 private:
  std::string_view text_;
};

}  // namespace detail

/// How a LockProvider works. Checked at construction: std::invalid_argument names the field.
struct LockProviderOptions {
  /// The lease of locks that name none, kMinTtl to kMaxTtl.
  Duration ttl = std::chrono::seconds(30);
  /// Names of the lock's fields; null means the default names.
  std::shared_ptr<const LockFieldNames> lock_fields = nullptr;
};

/// Named locks: locks for things that are not documents. A named lock is a document without a body.
/// Everything said about documents' locks holds for it, and its collection may be opened as a
/// LockingRepository too, unless it has another library's layout (MongodbStoreOptions::layouts).
///
/// A cheap handle that keeps its LockManager open. Thread-safe: all verbs are const and may be
/// called from any number of threads. One that was moved from throws std::logic_error.
///
/// **Names** are UTF-8, 1 to kMaxKeyBytes bytes, case-sensitive and taken as they are
/// (std::invalid_argument). A name that was never locked is free.
///
/// **Errors** are those of LockingRepository: LockException (kBusy, kTimedOut, kCancelled),
/// StoreException, InDoubtException (the lock may have been taken; the library releases it in the
/// background), std::invalid_argument for bad options. The Try forms return nothing instead of
/// kBusy and kTimedOut.
///
/// **Asynchronous forms** take any Boost.Asio completion token, `use_future` by default; see
/// LockingRepository. Per-operation cancellation ends their waits; a stop token ends blocking
/// waits.
class DOCLOCK_EXPORT LockProvider {
 public:
  /// Opens the collection.
  /// @throws std::invalid_argument for a bad name or option, naming it; StoreException
  explicit LockProvider(LockManager manager, const std::string& collection = kDefaultLockCollection,
                        LockProviderOptions options = {});

  /// Returns the collection's name.
  [[nodiscard]] const std::string& collection() const;
  /// Returns the manager.
  [[nodiscard]] const LockManager& manager() const;

  /// @name One lock
  /// @{

  /// Takes the named lock; waits up to options.wait while another client holds it.
  /// @throws LockException (kBusy, kTimedOut, kCancelled), StoreException, InDoubtException
  [[nodiscard]] HeldLock Acquire(detail::NameArg name, const LockOptions& options = {},
                                 std::stop_token stop = {}) const;
  /// Acquire() that returns nothing if the lock is busy.
  [[nodiscard]] std::optional<HeldLock> TryAcquire(detail::NameArg name,
                                                   const LockOptions& options = {},
                                                   std::stop_token stop = {}) const;
  /// Acquire() with a completion token of signature `void(std::exception_ptr, HeldLock)`.
  template <detail::TokenFor<HeldLock> Token = detail::DefaultToken>
  auto AcquireAsync(detail::NameArg name, const LockOptions& options = {},
                    Token&& token = Token()) const {
    return detail::Initiate(bound()->engine, LockOp(name, options), std::forward<Token>(token));
  }
  /// Acquire() with default options and a completion token.
  template <detail::TokenFor<HeldLock> Token>
  auto AcquireAsync(detail::NameArg name, Token&& token) const {
    return AcquireAsync(name, LockOptions{}, std::forward<Token>(token));
  }
  /// TryAcquire() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<HeldLock>)`.
  template <detail::TokenFor<std::optional<HeldLock>> Token = detail::DefaultToken>
  auto TryAcquireAsync(detail::NameArg name, const LockOptions& options = {},
                       Token&& token = Token()) const {
    return detail::Initiate(bound()->engine, detail::TryLockOperation{LockOp(name, options)},
                            std::forward<Token>(token));
  }
  /// TryAcquire() with default options and a completion token.
  template <detail::TokenFor<std::optional<HeldLock>> Token>
  auto TryAcquireAsync(detail::NameArg name, Token&& token) const {
    return TryAcquireAsync(name, LockOptions{}, std::forward<Token>(token));
  }

  /// Takes the lock, calls `f` (with the HeldLock& if `f` takes one), releases the lock, and
  /// returns what `f` returned. If `f` throws, the lock is released and the exception propagates.
  /// An `f` that gave the lock up itself (Release, Detach, a move) keeps what it did. A coroutine,
  /// or an `f` that returns a future, does not compile.
  template <class F>
  auto With(detail::NameArg name, F&& f, const LockOptions& options = {},
            std::stop_token stop = {}) const {
    static_assert(CanCall<F>());
    static_assert(detail::FinishedCheck<ResultOf<F>>::value);
    HeldLock lock = Acquire(name, options, std::move(stop));
    if constexpr (std::is_void_v<ResultOf<F>>) {
      Call(std::forward<F>(f), lock);
      if (!lock.gave_up()) lock.Release();
    } else {
      decltype(auto) result = Call(std::forward<F>(f), lock);
      if (!lock.gave_up()) lock.Release();
      return std::decay_t<decltype(result)>(std::forward<decltype(result)>(result));
    }
  }
  /// With() for a coroutine: `f` returns a boost::asio::awaitable, and so does this. The call
  /// checks options and the name; the lock is taken when the result is awaited. Per-operation
  /// cancellation ends the wait. In a coroutine, put `f` in a variable first; it is copied or
  /// moved.
  template <class F>
  auto WithAsync(detail::NameArg name, F f, const LockOptions& options = {}) const {
    static_assert(CanCall<F&>());
    static_assert(detail::CoroutineCheck<ResultOf<F&>>::value);
    return RunWithAsync<ResultOf<F&>>(*this, LockOp(name, options), std::move(f));
  }
  /// @}

  /// @name Mutexes
  /// For std::scoped_lock and the like. `options.wait` is ignored: lock() waits until the lock is
  /// granted.
  /// @{

  /// Returns the lock as a mutex.
  [[nodiscard]] NamedMutex Mutex(detail::NameArg name, const LockOptions& options = {}) const;
  /// Returns the lock as a mutex that its thread may lock again.
  [[nodiscard]] RecursiveNamedMutex RecursiveMutex(detail::NameArg name,
                                                   const LockOptions& options = {}) const;
  /// Returns the lock as a mutex that many may share. `options.mode` is ignored; `max_holders`
  /// limits the number of shares.
  [[nodiscard]] SharedNamedMutex SharedMutex(detail::NameArg name,
                                             const LockOptions& options = {}) const;
  /// @}

  /// @name Several locks
  /// @{

  /// Takes all locks or none. It takes them in the order of the names, so that two callers cannot
  /// deadlock, each name once, under one timeout (`wait`). While one is not available, it keeps the
  /// others for LockOptions::hold_while_waiting at most. Returns the handles in the order of the
  /// sorted names. The error names the lock that failed.
  [[nodiscard]] std::vector<HeldLock> AcquireAll(const std::vector<std::string>& names,
                                                 const LockOptions& options = {},
                                                 std::stop_token stop = {}) const;
  /// AcquireAll() that returns nothing if a lock is busy.
  [[nodiscard]] std::optional<std::vector<HeldLock>> TryAcquireAll(
      const std::vector<std::string>& names, const LockOptions& options = {},
      std::stop_token stop = {}) const;
  /// AcquireAll() with a completion token of signature
  /// `void(std::exception_ptr, std::vector<HeldLock>)`.
  template <detail::TokenFor<std::vector<HeldLock>> Token = detail::DefaultToken>
  auto AcquireAllAsync(const std::vector<std::string>& names, const LockOptions& options = {},
                       Token&& token = Token()) const {
    return detail::Initiate(bound()->engine, LockAllOp(names, options), std::forward<Token>(token));
  }
  /// TryAcquireAll() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<std::vector<HeldLock>>)`.
  template <detail::TokenFor<std::optional<std::vector<HeldLock>>> Token = detail::DefaultToken>
  auto TryAcquireAllAsync(const std::vector<std::string>& names, const LockOptions& options = {},
                          Token&& token = Token()) const {
    return detail::Initiate(bound()->engine, detail::TryAllOperation{LockAllOp(names, options)},
                            std::forward<Token>(token));
  }

  /// Returns a lock for LockAll together with documents (lock_all.h). Nothing is sent yet.
  [[nodiscard]] LockTarget<HeldLock> At(detail::NameArg name) const;
  /// @}

  /// @name Housekeeping
  /// @{

  /// Creates, unless it exists, the index by which LockAdmin finds held locks among many names. On
  /// MongoDB it costs each lock and each release a little; other stores need none. Affects speed
  /// only.
  /// @throws StoreException
  void EnsureIndexes() const;
  /// Returns what shows, breaks and tidies the locks, and renews and releases groups of them.
  [[nodiscard]] LockAdmin Admin() const;
  /// @}

  /// @cond
  // Errors in words.
  HeldLock Acquire(detail::NameArg, detail::MisplacedStop) const;
  std::optional<HeldLock> TryAcquire(detail::NameArg, detail::MisplacedStop) const;
  void AcquireAsync(detail::NameArg, detail::MisplacedStop) const;
  void TryAcquireAsync(detail::NameArg, detail::MisplacedStop) const;
  template <class F>
  void With(detail::NameArg, F&&, detail::MisplacedStop) const;
  template <class F>
  void WithAsync(detail::NameArg, F, detail::MisplacedStop) const;
  std::vector<HeldLock> AcquireAll(const std::vector<std::string>&, detail::MisplacedStop) const;
  std::optional<std::vector<HeldLock>> TryAcquireAll(const std::vector<std::string>&,
                                                     detail::MisplacedStop) const;
  void AcquireAllAsync(const std::vector<std::string>&, detail::MisplacedStop) const;
  void TryAcquireAllAsync(const std::vector<std::string>&, detail::MisplacedStop) const;
  /// @endcond

 private:
  template <class F>
  static constexpr bool kTakesLock = std::invocable<F, HeldLock&>;
  template <class F>
  using ResultOf = typename std::conditional_t<kTakesLock<F>, detail::Result<F, HeldLock&>,
                                               detail::Result<F>>::type;

  /// True, or an error in words.
  template <class F>
  static consteval bool CanCall() {
    if constexpr (!kTakesLock<F> && !std::invocable<F>) {
      static_assert(detail::MarkedCheck<F, HeldLock&>::value && detail::MarkedCheck<F>::value);
      static_assert(detail::CallableSomehow<F, HeldLock&> || detail::CallableSomehow<F>,
                    "doclock: f takes nothing, or the lock as HeldLock&: [] { ... } or "
                    "[](HeldLock& lock) { ... }");
    }
    return true;
  }
  template <class F>
  static decltype(auto) Call(F&& f, HeldLock& lock) {
    if constexpr (kTakesLock<F>) {
      return std::invoke(std::forward<F>(f), lock);
    } else if constexpr (std::invocable<F>) {
      return std::invoke(std::forward<F>(f));
    }
  }

  using Wrap = detail::WrapGrant<HeldLock>;

  [[nodiscard]] const detail::BindingPtr& bound() const;
  template <class Result, class F>
  static Result RunWithAsync(LockProvider self, detail::LockOperation<Wrap> op, F f) {
    using Token = boost::asio::use_awaitable_t<typename Result::executor_type>;
    HeldLock lock = co_await detail::Initiate(self.bound()->engine, std::move(op), Token());
    if constexpr (std::is_void_v<typename Result::value_type>) {
      co_await Call(f, lock);
      if (!lock.gave_up()) co_await lock.ReleaseAsync(Token());
    } else {
      auto result = co_await Call(f, lock);
      if (!lock.gave_up()) co_await lock.ReleaseAsync(Token());
      co_return result;
    }
  }

  [[nodiscard]] detail::AcquireSpec SpecOf(std::string_view name, const LockOptions& options) const;
  [[nodiscard]] detail::LockOperation<Wrap> LockOp(std::string_view name,
                                                   const LockOptions& options) const {
    return {SpecOf(name, options), Wrap{bound()}};
  }
  [[nodiscard]] detail::LockAllOperation<Wrap> LockAllOp(const std::vector<std::string>& names,
                                                         const LockOptions& options) const;

  LockManager manager_;
  detail::BindingPtr binding_;
};

}  // namespace doclock
