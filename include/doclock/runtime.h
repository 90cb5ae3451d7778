#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "doclock/clock.h"
#include "doclock/export.h"

namespace doclock {

/// Where the engine gets time and threads from. Injected, so that a test runs hours of leases in
/// milliseconds on one thread (`doclock::testing::ManualClock`). Production code never touches it.
///
/// There are three kinds of places where code runs: the *engine* (one thread: timers and waiting;
/// never blocks), *workers* (threads that call the store and may block) and the *notifier* (one
/// thread that runs users' callbacks, so that a slow one delays no lease).
class DOCLOCK_EXPORT Runtime {
 public:
  /// Something to run once. Must not throw.
  using Task = std::function<void()>;
  /// Names a scheduled task; 0 names none.
  using TimerId = std::uint64_t;

  /// A one-shot latch a thread waits on. Thread-safe; may be destroyed as soon as the wait
  /// returned.
  class DOCLOCK_EXPORT Event {
   public:
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    virtual ~Event();
    /// Opens the latch. It touches nothing of the event after the waiter can see it open.
    virtual void Set() noexcept = 0;
    /// Blocks until it is open. A virtual runtime runs tasks and moves time meanwhile.
    virtual void Wait() = 0;
  };

  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  virtual ~Runtime();

  /// The present moment. Thread-safe.
  [[nodiscard]] virtual TimePoint Now() const noexcept = 0;

  /// Runs the task on the engine at `when` or soon after. Thread-safe.
  virtual TimerId Schedule(TimePoint when, Task task) = 0;
  /// Forgets a scheduled task; it may still run if it is already due. Thread-safe; 0 is allowed.
  virtual void Cancel(TimerId id) noexcept = 0;
  /// Runs the task on the engine. Thread-safe.
  virtual void Post(Task task) = 0;
  /// Runs the task on a worker; tasks may block in the store. Thread-safe.
  virtual void Work(Task task) = 0;
  /// Runs the task on the notifier; tasks run in order. Thread-safe.
  virtual void Notify(Task task) = 0;
  /// Makes a latch.
  virtual std::unique_ptr<Event> MakeEvent() = 0;
  /// Is the calling thread one of this runtime's?
  [[nodiscard]] virtual bool OnOwnThread() const noexcept = 0;
  /// Runs what is queued, then ends the threads. Scheduled tasks are dropped. It waits for workers
  /// until `patience` is over: one that is still in a call of the store then is left behind, and
  /// ends by itself. So does a thread that calls this on itself. It waits for users' callbacks
  /// until they return; on a thread of another Runtime, until `patience` is over.
  ///
  /// No task is ever lost. Work and Notify run it on a thread of its own afterwards, one at a time;
  /// in a forked child, which has no threads, at once on the caller's. Schedule gives 0 and
  /// schedules nothing.
  virtual void Stop(std::chrono::nanoseconds patience) = 0;
};

/// Makes the real runtime.
/// @param workers number of worker threads, 1 to 64.
DOCLOCK_EXPORT std::shared_ptr<Runtime> MakeRuntime(int workers);

}  // namespace doclock
