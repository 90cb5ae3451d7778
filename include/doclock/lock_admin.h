#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doclock/detail/facade.h"
#include "doclock/export.h"
#include "doclock/lock_fields.h"
#include "doclock/lock_manager.h"
#include "doclock/lock_status.h"

namespace doclock {

/// The locks of one collection, for those who run it: shows, renews, releases and breaks locks that
/// other clients hold, and tidies. LockingRepository::Admin and LockProvider::Admin return it:
///
/// ```cpp
/// for (const LockStatus& lock : orders.Admin().Status()) Print(lock);
/// locks.Admin().Break("nightly", "operator");
/// ```
///
/// A handle whose lock was ended here finds out at its next renewal or write (LockException kLost).
/// The body of a document stays as it is.
///
/// A cheap handle that keeps its LockManager open. Thread-safe. All verbs ask the store, and throw
/// StoreException; those that end or renew locks throw InDoubtException if it is unknown whether
/// they did.
class DOCLOCK_EXPORT LockAdmin {
 public:
  /// Returns the locks, held or expired, that match, ordered by key.
  /// @throws std::invalid_argument for a filter with a name and a key
  [[nodiscard]] std::vector<LockStatus> Status(const LockFilter& filter = {}) const;

  /// Ends another client's lock; if it is shared, all its live shares. Returns the lock (one of the
  /// shares) as it was. If the document holds nothing besides its lock, its field `broken` records
  /// who broke the lock (`by`; empty: ManagerOptions::owner), who held it, and when (`at`,
  /// milliseconds since 1970), until the lock is broken again.
  /// @throws std::invalid_argument if `by` is not UTF-8 or longer than 256 bytes; NotFoundException
  /// if there is no such document, LockException kNotOwner if its lock is not held or changed hands
  /// meanwhile
  LockStatus Break(const Key& key, std::string_view by = {}) const;

  /// @name By the lock's id
  /// For clients that have a lock's id (LockFields::id), and no handle.
  /// @throws LockException kNotOwner if there is no id, or it does not lock the document;
  /// NotFoundException if there is no such document
  /// @{

  /// Renews the lease of the lock (or the share) from now on, with this length (zero: its own;
  /// another library's document tells none, so its lease stays as it is). A renewal never shortens
  /// a lease, and does not revive one that has expired. The handle does not learn of it, and goes
  /// on renewing. Returns the lock. `lock.version` is ignored.
  /// @throws std::invalid_argument for a ttl that is not kMinTtl to kMaxTtl
  LockStatus Renew(const Key& key, const LockFields& lock, Duration ttl = {}) const;
  /// Releases the lock (or the share), also one that has expired if no other client has taken it.
  /// Unless `lock.version` is 0, an exclusive lock must be at that version. Returns the lock as it
  /// was.
  LockStatus Release(const Key& key, const LockFields& lock) const;
  /// @}

  /// @name Groups
  /// Locks that were taken with the same LockOptions::group, by any client. The name of the group
  /// must not be empty (std::invalid_argument).
  /// @throws GroupException if some failed
  /// @{

  /// Renews the leases of the group's live locks, as Renew does, and returns the locks.
  /// @throws NotFoundException if the group has no live lock; std::invalid_argument as Renew
  std::vector<LockStatus> RenewGroup(std::string_view group, Duration ttl = {}) const;
  /// Releases the group's live locks, newest first, and returns those it released (none if the
  /// group has no locks).
  std::vector<LockStatus> ReleaseGroup(std::string_view group) const;
  /// @}

  /// Clears what expired locks left in documents, in small batches with a pause after each so that
  /// other clients get their turn: one to a few thousand per second. Never touches a live lock or a
  /// version. Not needed for correctness. With PurgeOptions::forget it also deletes documents that
  /// hold nothing besides their lock and were not locked for `idle_for`.
  /// @throws std::invalid_argument naming the option; StoreException, also kRefused for
  /// PurgeOptions::forget in a collection with another library's layout
  PurgeResult Purge(const PurgeOptions& options = {}) const;

 private:
  template <class T>
  friend class LockingRepository;
  friend class LockProvider;

  LockAdmin(const LockManager& manager, const detail::BindingPtr& binding)
      : manager_(manager), binding_(binding) {}

  [[nodiscard]] const detail::Binding& bound() const;

  LockManager manager_;
  detail::BindingPtr binding_;
};

}  // namespace doclock
