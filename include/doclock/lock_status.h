#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doclock/duration.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/key.h"
#include "doclock/lock_options.h"

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

}  // namespace doclock
