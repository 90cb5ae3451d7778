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

/// Named locks: locks for things that are not documents. A named lock is a document without a body.
/// Everything said about documents' locks holds for it, and its collection may be opened as a
/// LockingRepository too.
///
/// A cheap handle that keeps its LockManager open. Thread-safe: all verbs are const and may be
/// called from any number of threads.
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
  [[nodiscard]] const std::string& collection() const noexcept;
  /// Returns the manager.
  [[nodiscard]] const LockManager& manager() const noexcept { return manager_; }

  /// @name One lock
  /// @{

  /// Takes a lock.
  [[nodiscard]] HeldLock Acquire(std::string_view name, const LockOptions& options = {},
                                 std::stop_token stop = {}) const;
  /// Acquire() that returns nothing if the lock is busy.
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

  /// Takes the lock, calls `f` (with the HeldLock& if `f` takes one), releases the lock, and
  /// returns what `f` returned. If `f` throws, the lock is released and the exception propagates.
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
  /// For std::scoped_lock and the like. `options.wait` is ignored: lock() waits until the lock is
  /// granted.
  /// @{

  /// Returns the lock as a mutex.
  [[nodiscard]] NamedMutex Mutex(std::string_view name, const LockOptions& options = {}) const;
  /// Returns the lock as a mutex that its thread may lock again.
  [[nodiscard]] RecursiveNamedMutex RecursiveMutex(std::string_view name,
                                                   const LockOptions& options = {}) const;
  /// Returns the lock as a mutex that many may share. `options.mode` is ignored; `max_holders`
  /// limits the number of shares.
  [[nodiscard]] SharedNamedMutex SharedMutex(std::string_view name,
                                             const LockOptions& options = {}) const;
  /// @}

  /// @name Several locks
  /// @{

  /// Takes all locks or none. It takes them in the order of the names, so that two callers cannot
  /// deadlock, each name once, under one timeout (`wait`). Returns the handles in the order of the
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
  /// Locks that were taken with the same LockOptions::group, by any client.
  /// @{

  /// Renews the leases of the group's live locks from now on, each with this length (zero: its
  /// own), and returns the locks. A renewal never shortens a lease, and expired leases are not
  /// revived. The handles do not learn of it, and go on renewing.
  /// @throws NotFoundException if the group has no live lock; GroupException if some failed
  std::vector<LockStatus> RenewGroup(std::string_view group, Duration ttl = {}) const;
  /// Releases the group's locks, newest first, and returns those it released (none if the group has
  /// no locks). Their handles find out at their next renewal.
  /// @throws GroupException if some failed
  std::vector<LockStatus> ReleaseGroup(std::string_view group) const;
  /// @}

  /// @name Inspection and housekeeping
  /// @{

  /// Returns the locks, held or expired, that match, ordered by name.
  [[nodiscard]] std::vector<LockStatus> Status(const LockFilter& filter = {}) const;
  /// Creates, unless it exists, the index by which Purge and Status find held locks among many
  /// names. On MongoDB it costs each lock and each release a little; other stores need none.
  /// Affects speed only.
  /// @throws StoreException
  void EnsureIndexes() const;
  /// Clears what expired locks left, in small batches with a pause after each so that other clients
  /// get their turn: one to a few thousand per second. Never touches a live lock. Names keep their
  /// fences, unless the options allow it to forget names that were long unused.
  /// @throws std::invalid_argument naming the option
  PurgeResult Purge(const PurgeOptions& options = {}) const;
  /// Ends another client's lock. The holder finds out at its next renewal or release (kLost). If
  /// the document holds nothing besides its lock, its field `broken` records who broke the lock
  /// (`by`), who held it, and when (`at`, milliseconds since 1970), until the lock is broken again;
  /// the body of other documents stays as it is. Returns the lock as it was. If the lock is shared,
  /// all live shares are ended, and one of them is returned and recorded.
  /// @throws NotFoundException if there is no such name, LockException kNotOwner if the lock is not
  /// held or changed hands meanwhile
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
