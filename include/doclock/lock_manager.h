#pragma once

/// @file
/// LockManager, and the Runtime that gives it threads and time.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "doclock/export.h"
#include "doclock/options.h"
#include "doclock/store/store.h"
#include "doclock/time.h"

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

/// Gives the engine its time and threads. It is injected, so that a test can run hours of leases in
/// milliseconds on one thread (`doclock::testing::ManualClock`). Production code does not need it.
///
/// Code runs in three kinds of places: the *engine* (one thread for timers and waiting; it never
/// blocks), *workers* (threads that call the store and may block) and the *notifier* (one thread
/// that runs users' callbacks, so that a slow callback does not delay a lease).
///
/// No function throws, but Event::Wait where a virtual runtime finds that nothing will end the
/// wait.
class DOCLOCK_EXPORT Runtime {
 public:
  /// A task to run once. Must not throw.
  using Task = std::function<void()>;
  /// Identifies a scheduled task; 0 is no task.
  using TimerId = std::uint64_t;

  /// A one-shot latch that a thread waits on. Thread-safe; may be destroyed as soon as Wait has
  /// returned.
  class DOCLOCK_EXPORT Event {
   public:
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    virtual ~Event();
    /// Opens the latch. Does not touch the event after the waiter can see it open.
    virtual void Set() noexcept = 0;
    /// Blocks until the latch is open. A virtual runtime runs tasks and moves time meanwhile.
    virtual void Wait() = 0;
  };

  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  virtual ~Runtime();

  /// Returns the present moment. Thread-safe.
  [[nodiscard]] virtual TimePoint Now() const noexcept = 0;

  /// Runs the task on the engine at `when` or soon after. Thread-safe.
  virtual TimerId Schedule(TimePoint when, Task task) = 0;
  /// Cancels a scheduled task; it may still run if it is already due. Thread-safe; 0 is allowed.
  virtual void Cancel(TimerId id) noexcept = 0;
  /// Runs the task on the engine. Thread-safe.
  virtual void Post(Task task) = 0;
  /// Runs the task on a worker. Tasks may block in the store. Thread-safe.
  virtual void Work(Task task) = 0;
  /// Runs the task on the notifier. Tasks run in order. Thread-safe.
  virtual void Notify(Task task) = 0;
  /// Makes a latch.
  virtual std::unique_ptr<Event> MakeEvent() = 0;
  /// Is the time virtual? Then a hint that a store gives on a thread of its own waits its turn
  /// among the tasks: nothing is half done while the time moves.
  [[nodiscard]] virtual bool IsVirtual() const noexcept { return false; }
  /// Is the calling thread one of this runtime's?
  [[nodiscard]] virtual bool OnOwnThread() const noexcept = 0;
  /// Runs what is queued, then ends the threads. Scheduled tasks are dropped. Stop waits for
  /// workers until `timeout` is over: a worker that is still in a call of the store then is left
  /// behind, and ends by itself. So does a thread of the runtime that calls Stop itself. Stop waits
  /// for users' callbacks until they return; on a thread of another Runtime, until `timeout` is
  /// over.
  ///
  /// No task is ever lost. After Stop, Work and Notify run a task on a thread of its own, one at a
  /// time; in a forked child, which has no threads, at once on the caller's thread. Schedule
  /// returns 0 and schedules nothing.
  virtual void Stop(std::chrono::nanoseconds timeout) = 0;
};

/// Makes the real runtime.
/// @param workers number of worker threads, 1 to 64.
DOCLOCK_EXPORT std::shared_ptr<Runtime> MakeRuntime(int workers);

}  // namespace doclock
