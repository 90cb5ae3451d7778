#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/held_lock.h"
#include "doclock/lock_manager.h"
#include "doclock/lock_status.h"
#include "doclock/named_mutex.h"
#include "doclock/shared_named_mutex.h"

namespace doclock {

/// Where named locks are kept unless a LockProvider says otherwise.
inline constexpr const char* kDefaultLockCollection = "doclock_locks";

/// How a LockProvider works. Checked at construction: std::invalid_argument names the field.
struct LockProviderOptions {
  /// The lease of locks that name none, kMinTtl to kMaxTtl.
  Duration ttl = std::chrono::seconds(30);
  /// Names of the lock's fields; null means the default names.
  std::shared_ptr<const LockFieldNames> lock_fields = nullptr;
};

/// Named locks: for whatever is no document of its own. A named lock is a document with no body;
/// everything that is said of documents' locks holds for it, and its collection may be opened as a
/// LockingRepository too.
///
/// A cheap handle that keeps its LockManager open. Thread-safe: all verbs are const and may be
/// called from any number of threads.
///
/// **Names** are UTF-8, 1 to kMaxKeyBytes bytes, case-sensitive and taken as they are
/// (std::invalid_argument). A name that was never locked is free.
///
/// **Errors** are those of LockingRepository: LockException (kBusy, kTimedOut, kCancelled),
/// StoreException, InDoubtException (the lock may have been taken; it is given back in the
/// background), std::invalid_argument for bad options. The Try forms return nothing instead of
/// kBusy and kTimedOut.
///
/// **Asynchronous forms** take any Boost.Asio completion token, `use_future` by default; see
/// LockingRepository. Per-operation cancellation ends waits, a stop token the blocking ones.
class DOCLOCK_EXPORT LockProvider {
 public:
  /// Opens the collection.
  /// @throws std::invalid_argument for a bad name or option, naming it; StoreException
  explicit LockProvider(LockManager manager, const std::string& collection = kDefaultLockCollection,
                        LockProviderOptions options = {});

  /// The collection's name.
  [[nodiscard]] const std::string& collection() const noexcept;
  /// The manager.
  [[nodiscard]] const LockManager& manager() const noexcept { return manager_; }

  /// @name One lock
  /// @{

  /// Takes a lock.
  [[nodiscard]] HeldLock Acquire(std::string_view name, const LockOptions& options = {},
                                 std::stop_token stop = {}) const;
  /// Acquire() where busy is a result.
  [[nodiscard]] std::optional<HeldLock> TryAcquire(std::string_view name,
                                                   const LockOptions& options = {},
                                                   std::stop_token stop = {}) const;
  /// Acquire() with a completion token of signature `void(std::exception_ptr, HeldLock)`.
  template <detail::TokenFor<HeldLock> Token = detail::DefaultToken>
  auto AcquireAsync(std::string_view name, const LockOptions& options = {},
                    Token&& token = Token()) const {
    return detail::Initiate(binding_->engine, LockOp(name, options), std::forward<Token>(token));
  }
  /// As above, with default options.
  template <detail::TokenFor<HeldLock> Token>
  auto AcquireAsync(std::string_view name, Token&& token) const {
    return AcquireAsync(name, LockOptions{}, std::forward<Token>(token));
  }
  /// TryAcquire() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<HeldLock>)`.
  template <detail::TokenFor<std::optional<HeldLock>> Token = detail::DefaultToken>
  auto TryAcquireAsync(std::string_view name, const LockOptions& options = {},
                       Token&& token = Token()) const {
    return detail::Initiate(binding_->engine,
                            detail::TryLockOperation<WrapGrant>{LockOp(name, options)},
                            std::forward<Token>(token));
  }

  /// Takes the lock, calls `f` (with the HeldLock&, if it wants it), and releases when it returns;
  /// gives back what it returns. When it throws, the lock is given back and the exception goes on.
  template <class F>
    requires(std::invocable<F, HeldLock&> || std::invocable<F>)
  auto With(std::string_view name, F&& f, const LockOptions& options = {},
            std::stop_token stop = {}) const {
    HeldLock lock = Acquire(name, options, std::move(stop));
    const auto call = [&]() -> decltype(auto) {
      if constexpr (std::invocable<F, HeldLock&>) {
        return std::invoke(std::forward<F>(f), lock);
      } else {
        return std::invoke(std::forward<F>(f));
      }
    };
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      lock.Release();
    } else {
      decltype(auto) result = call();
      lock.Release();
      return std::decay_t<decltype(result)>(std::forward<decltype(result)>(result));
    }
  }
  /// @}

  /// @name Mutexes
  /// For std::scoped_lock and its kin. `options.wait` does not matter: lock() waits until it is
  /// granted.
  /// @{

  /// The lock as a mutex.
  [[nodiscard]] NamedMutex Mutex(std::string_view name, const LockOptions& options = {}) const;
  /// The lock as a mutex that its thread may lock again.
  [[nodiscard]] RecursiveNamedMutex RecursiveMutex(std::string_view name,
                                                   const LockOptions& options = {}) const;
  /// The lock as a mutex that many may share. `options.mode` does not matter; `max_holders` is the
  /// limit of those who share.
  [[nodiscard]] SharedNamedMutex SharedMutex(std::string_view name,
                                             const LockOptions& options = {}) const;
  /// @}

  /// @name Several locks
  /// @{

  /// Takes all of them or none: in the order of the names, so that two callers cannot wait for each
  /// other, each name once, with `wait` for all together. The handles are in the order of the
  /// sorted names. The error names the lock that failed.
  [[nodiscard]] std::vector<HeldLock> AcquireAll(const std::vector<std::string>& names,
                                                 const LockOptions& options = {},
                                                 std::stop_token stop = {}) const;
  /// AcquireAll() where busy is a result.
  [[nodiscard]] std::optional<std::vector<HeldLock>> TryAcquireAll(
      const std::vector<std::string>& names, const LockOptions& options = {},
      std::stop_token stop = {}) const;
  /// AcquireAll() with a completion token of signature
  /// `void(std::exception_ptr, std::vector<HeldLock>)`.
  template <detail::TokenFor<std::vector<HeldLock>> Token = detail::DefaultToken>
  auto AcquireAllAsync(const std::vector<std::string>& names, const LockOptions& options = {},
                       Token&& token = Token()) const {
    return detail::Initiate(binding_->engine, LockAllOp(names, options),
                            std::forward<Token>(token));
  }
  /// TryAcquireAll() with a completion token of signature
  /// `void(std::exception_ptr, std::optional<std::vector<HeldLock>>)`.
  template <detail::TokenFor<std::optional<std::vector<HeldLock>>> Token = detail::DefaultToken>
  auto TryAcquireAllAsync(const std::vector<std::string>& names, const LockOptions& options = {},
                          Token&& token = Token()) const {
    return detail::Initiate(binding_->engine,
                            detail::TryLockAllOperation<WrapGrant>{LockAllOp(names, options)},
                            std::forward<Token>(token));
  }
  /// @}

  /// @name Groups
  /// Locks that were taken with the same LockOptions::group, by whomever.
  /// @{

  /// Starts the leases of the group's live locks anew, each with this length (zero: its own), and
  /// returns them. A lease that was longer ends no sooner for it, and expired ones are not revived.
  /// The handles do not learn of it, and go on renewing theirs.
  /// @throws NotFoundException if the group has no live lock; GroupException if some failed
  std::vector<LockStatus> RenewGroup(std::string_view group, Duration ttl = {}) const;
  /// Releases the group's locks, newest first, and returns those it released; none if there are
  /// none. Their handles find out at their next renewal.
  /// @throws GroupException if some failed
  std::vector<LockStatus> ReleaseGroup(std::string_view group) const;
  /// @}

  /// @name Looking and tidying
  /// @{

  /// The locks that are held or expired and match, by name.
  [[nodiscard]] std::vector<LockStatus> Status(const LockFilter& filter = {}) const;
  /// Makes the index exist by which Purge and Status find held locks among many names. On MongoDB
  /// it costs each lock and each release a little; other stores need none. Never needed for
  /// correctness.
  /// @throws StoreException
  void EnsureIndexes() const;
  /// Clears what expired locks left, in small batches with a rest after each, for the sake of
  /// others at the store: a thousand to some thousand a second. Never touches a live lock. Names
  /// keep their fences, unless the options say that those long unused may be forgotten.
  /// @throws std::invalid_argument naming the option
  PurgeResult Purge(const PurgeOptions& options = {}) const;
  /// Ends a lock that somebody else holds. The holder finds out at its next renewal or release
  /// (kLost). Where the document holds nothing besides its lock, it says from then on who did it,
  /// to whom, and when (`at`, milliseconds since 1970), in a field `broken`, until it is broken
  /// again; the body of other documents stays as it is. Returns the lock as it was. Of a shared
  /// lock all live shares are ended, and one of them is returned and noted.
  /// @throws NotFoundException if there is no such name, LockException kNotOwner if nobody holds
  /// it or it changed hands meanwhile
  LockStatus Break(std::string_view name, std::string_view by = {}) const;
  /// @}

 private:
  struct WrapGrant {
    detail::BindingPtr binding;
    HeldLock operator()(detail::Grant grant) const { return HeldLock(binding, std::move(grant)); }
  };

  [[nodiscard]] detail::AcquireSpec SpecOf(std::string_view name, const LockOptions& options) const;
  [[nodiscard]] detail::LockOperation<WrapGrant> LockOp(std::string_view name,
                                                        const LockOptions& options) const {
    return {binding_, SpecOf(name, options), WrapGrant{binding_}};
  }
  [[nodiscard]] detail::LockAllOperation<WrapGrant> LockAllOp(const std::vector<std::string>& names,
                                                              const LockOptions& options) const;
  detail::AcquireAllResult AcquireEach(detail::LockAllOperation<WrapGrant>& op,
                                       std::stop_token stop) const;

  LockManager manager_;
  detail::BindingPtr binding_;
};

}  // namespace doclock
