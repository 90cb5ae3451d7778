#pragma once

/// @file
/// What operators need: LockAdmin, and the locks that it shows.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/detail/facade.h"
#include "doclock/document.h"
#include "doclock/entity_traits.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/lock_manager.h"
#include "doclock/options.h"
#include "doclock/time.h"

namespace doclock {

/// A lock as LockAdmin::Status shows it. A shared lock has one
/// entry for each share.
struct LockStatus {
  Key key;                               ///< The name, as a key.
  std::string name;                      ///< The name; diagnostic only.
  LockHolder holder;                     ///< The holder, or the last one if expired.
  std::string group;                     ///< LockOptions::group; empty for none.
  LockMode mode = LockMode::kExclusive;  ///< How it is held.
  std::int64_t version = 0;              ///< The document's version.
  /// What the holder's fence() returns; each share has its own. Empty if the store does not know
  /// it.
  std::optional<std::int64_t> fence;
  /// Only with LockFilter::closed: it has no holder, and min_hold keeps it closed. The fields that
  /// tell of a holder or a lease are empty then.
  bool unheld = false;
  bool closed = false;     ///< LockOptions::min_hold keeps other clients out, even after a release.
  bool expired = false;    ///< Its lease is over; not granted again since.
  bool malformed = false;  ///< Its fields are not what this library writes.
  /// How many waiters stand in the store's queue for it: one of each process. 0 from a store that
  /// keeps no queue (StoreTraits::queues).
  int waiting = 0;
  LockHolder next;                        ///< The first of them.
  std::chrono::milliseconds ttl{};        ///< Length of its lease.
  std::chrono::milliseconds remaining{};  ///< What is left of its lease, by the store's clock.
  /// Since the grant or the holder's last Save, by the store's clock; on MongoDB since the last
  /// renewal, if that is later.
  std::chrono::milliseconds age{};
  std::chrono::system_clock::time_point granted;  ///< When `age` began, by this machine's clock.
};

/// Which locks to show: those that meet all conditions that are set.
struct LockFilter {
  std::string name = {};         ///< Exactly this name.
  std::optional<Key> key = {};   ///< Exactly this key, of any type; not together with `name`.
  std::string name_prefix = {};  ///< Names that begin with this.
  std::string owner = {};        ///< LockHolder::name.
  std::string group = {};        ///< LockOptions::group.
  /// Granted before this moment.
  std::optional<std::chrono::system_clock::time_point> granted_before = {};
  /// Granted after this moment.
  std::optional<std::chrono::system_clock::time_point> granted_after = {};
  std::optional<Duration> remaining_below = {};     ///< Less is left of the lease; expired: 0 left.
  std::optional<Duration> remaining_at_least = {};  ///< This much or more is left.
  /// Also locks that have no holder and that LockOptions::min_hold keeps closed. Without `name` or
  /// `key` the store looks at every document then.
  bool closed = false;
  std::optional<bool> expired = {};  ///< Only expired ones, or only live ones.
};

/// What LockAdmin::Purge may do.
struct PurgeOptions {
  /// Delete names that were not held for `idle_for` and that hold nothing besides their lock.
  /// **Their fences begin at 1 again.**
  bool forget = false;
  /// How long a name must have been unused; more than zero. Refused without `forget`.
  Duration idle_for = {};
};

/// What LockAdmin::Purge did.
struct PurgeResult {
  std::int64_t expired = 0;    ///< Expired locks that were cleared.
  std::int64_t forgotten = 0;  ///< Names that were deleted.
};

/// Some locks of a group could not be renewed or released. They may still be held; those in doubt
/// (kInDoubt) may have been renewed or released.
class DOCLOCK_EXPORT GroupException : public Error {
 public:
  /// A lock and why it failed.
  struct Failed {
    LockStatus lock;  ///< As it was before.
    Errc code;        ///< Why.
  };
  /// Takes the text, the locks that were done, and those that failed (at least one).
  GroupException(const std::string& what, std::vector<LockStatus> done, std::vector<Failed> failed);
  ~GroupException() override;
  /// Returns the locks that were renewed, or released.
  [[nodiscard]] const std::vector<LockStatus>& done() const noexcept { return done_; }
  /// Returns the locks that failed.
  [[nodiscard]] const std::vector<Failed>& failed() const noexcept { return failed_; }

 private:
  std::vector<LockStatus> done_;
  std::vector<Failed> failed_;
};

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
