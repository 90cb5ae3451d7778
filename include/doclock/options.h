#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "doclock/duration.h"
#include "doclock/lock_options.h"

namespace doclock {

class Observer;
class Runtime;

/// How a LockManager works. Checked at construction: std::invalid_argument names the field.
struct ManagerOptions {
  /// The name of the client that takes locks, unless LockOptions::owner gives one; diagnostic only.
  /// At most 256 bytes. Empty: the program's name ("doclock" where the platform layer does not know
  /// it).
  std::string owner = {};
  /// Receives the events; may be null. See Observer for threads.
  std::shared_ptr<Observer> observer = nullptr;
  /// The timeout of one call of the store, 10 ms to 10 minutes. When it runs out, the call fails
  /// (kUnavailable, or kInDoubt if something was sent).
  Duration call_budget = std::chrono::seconds(10);
  /// A waiter polls again after a random time between `poll_min` and `poll_max`, whether or not the
  /// store gave a hint that the lock is free; about once a second, or in a quarter of a short
  /// `ttl`, while the store notifies it and its entry stands in the store's queue. A search
  /// (LockNext) asks about once a second while the store notifies it, and when it knows that a
  /// document falls due or a lock ends. At least 1 ms; min <= max <= 1 h.
  Duration poll_min = std::chrono::milliseconds(50);
  /// See poll_min.
  Duration poll_max = std::chrono::milliseconds(150);
  /// The longest time that Close() waits for background releases. Up to one minute.
  Duration drain_timeout = std::chrono::seconds(2);
  /// Hand-overs between waiters of this process in a row before other processes get a chance.
  /// 1 to 1000.
  int max_handovers = 16;
  /// For tests: where time and threads come from; null means the real ones. It belongs to this
  /// manager alone, which stops it when it is closed.
  std::shared_ptr<Runtime> runtime = nullptr;
};

/// The names of the lock's fields, where they live inside the document (MongoDB). On every store a
/// body may not use these names at its top level.
/// Each is 1 to 64 characters of [A-Za-z_][A-Za-z0-9_]*, and all differ.
struct LockFieldNames {
  std::string id = "lockId";              ///< The grant's id, or null.
  std::string time = "lockTime";          ///< Server time of the last grant or renewal.
  std::string ttl = "lockTtl";            ///< Length of the lease, ms.
  std::string version = "lockVersion";    ///< Rises by one with each grant and write.
  std::string born = "lockBorn";          ///< Tells an erased document from its next life.
  std::string owner = "lockOwner";        ///< The holder's name; diagnostic only.
  std::string released = "lockReleased";  ///< The last finished release.
  std::string closed = "lockClosed";      ///< The end of min_hold.
  std::string group = "lockGroup";        ///< LockOptions::group.
  std::string readers = "lockReaders";    ///< The shares of a shared lock.
  std::string fence = "lockFence";        ///< The fence of a holder that has saved.
  std::string queue = "lockQueue";        ///< The waiters, in the order of their arrival.
  std::string passed = "lockPassed";      ///< The last grant to a waiter of the queue.
  std::string expected = "lockExpected";  ///< The last commit that expected the document unchanged.
  /// Compares names.
  friend bool operator==(const LockFieldNames&, const LockFieldNames&) = default;
};

/// How a LockingRepository works. Checked at construction: std::invalid_argument names the field.
struct RepositoryOptions {
  /// The lease of locks that name none, kMinTtl to kMaxTtl.
  Duration ttl = std::chrono::seconds(30);
  /// Update() tries this many optimistic saves before it takes the lock, and doclock::Update this
  /// many commits. 0 to 1000.
  int update_retries = 5;
  /// How long Update() waits for the lock once it takes it. For doclock::Update see
  /// UpdateOptions::within.
  Duration update_wait = std::chrono::seconds(30);
  /// Names of the lock's fields; null means EntityTraits' (or the default) names.
  std::shared_ptr<const LockFieldNames> lock_fields = nullptr;
};

}  // namespace doclock
