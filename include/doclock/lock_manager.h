#pragma once

#include <memory>

#include "doclock/date.h"
#include "doclock/export.h"
#include "doclock/options.h"
#include "doclock/store.h"

namespace doclock {

namespace detail {
class Engine;
}

/// Manages the locks of one store: worker threads, renewals, waiting callers. Make one per store
/// and process, early; a LockingRepository keeps a copy.
///
/// A cheap handle: copies share one engine, and the last copy to go closes it. Thread-safe.
class DOCLOCK_EXPORT LockManager {
 public:
  /// Starts the engine. @throws std::invalid_argument naming the bad option, or for a null store.
  /// @throws std::system_error if a thread cannot start.
  explicit LockManager(std::shared_ptr<Store> store, ManagerOptions options = {});
  /// Another handle on the same engine.
  LockManager(const LockManager&);
  /// Another handle on the same engine.
  LockManager& operator=(const LockManager&);
  /// Leaves the other one without an engine: its Close() does nothing, all else throws
  /// std::logic_error.
  LockManager(LockManager&&) noexcept;
  /// Takes over the other's engine, and leaves the other one without.
  LockManager& operator=(LockManager&&) noexcept;
  /// Closes the engine if this is the last handle; see Close.
  ~LockManager();

  /// Ends every wait (kCancelled; one without end and without a stop token has the store's answer
  /// first, if that has not answered yet), gives background releases `drain_timeout` to finish, and
  /// joins the threads. Locks that are still held are not renewed any more and report lost(); their
  /// leases run out in the store. Later calls fail with kClosed. Idempotent, thread-safe, never
  /// throws. A second call waits for the first.
  ///
  /// Waits for callbacks under way. A thread that hangs in the store for longer than
  /// `drain_timeout` is left behind, and keeps the store open until it returns. If one of the
  /// engine's own threads calls Close (in a callback), Close returns before that thread has ended.
  /// In a callback of another manager, Close waits for callbacks no longer than `drain_timeout`.
  void Close() noexcept;

  /// Returns the time of day by the store's clock, which tells what is due (Filter::Due): a moment
  /// that the store compares is best reckoned from it. With a store on a server it is a request.
  /// @throws StoreException; LockException kForked in a child process
  [[nodiscard]] Date StoreTime() const;

  /// Returns the store.
  [[nodiscard]] const std::shared_ptr<Store>& store() const;

  /// For the library's own templates.
  [[nodiscard]] const std::shared_ptr<detail::Engine>& engine() const;

 private:
  class Owner;
  std::shared_ptr<Owner> owner_;
};

}  // namespace doclock
