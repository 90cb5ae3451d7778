#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "doclock/lock_manager.h"
#include "doclock/options.h"
#include "doclock/store/store.h"
#include "engine/calls/batcher.h"
#include "engine/calls/met_queues.h"
#include "engine/runtime/limited_work.h"

namespace doclock::detail {

/// The calls of one manager to its store, with the threads and timers that make them, until the
/// manager closes. Thread-safe.
class StoreCalls : public std::enable_shared_from_this<StoreCalls> {
 public:
  StoreCalls(std::shared_ptr<Store> store, ManagerOptions options);

  [[nodiscard]] Store& store() noexcept { return *store_; }
  [[nodiscard]] const std::shared_ptr<Store>& shared_store() const noexcept { return store_; }
  [[nodiscard]] const ManagerOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::chrono::milliseconds budget() const noexcept {
    return options_.call_budget.ms();
  }
  [[nodiscard]] const StoreTraits& traits() const noexcept { return traits_; }
  /// Whether waiters stand in a queue of the store, with those of other processes.
  [[nodiscard]] bool store_has_queue() const noexcept { return traits_.queues && traits_.shared; }
  [[nodiscard]] Runtime& runtime() noexcept { return *runtime_; }
  [[nodiscard]] TimePoint Now() const noexcept { return runtime_->Now(); }

  [[nodiscard]] Batcher& batcher() noexcept { return *batcher_; }
  /// For reads by key of asynchronous callers. If the store reads apart from writes, it has a lane
  /// of its own, and no other kind of call delays them.
  [[nodiscard]] Batcher& reads() noexcept { return *reads_; }
  [[nodiscard]] LimitedWork& queries() noexcept { return *queries_; }
  /// For LockNext and transactions. They write, so where reads go apart from writes, no query waits
  /// for them.
  [[nodiscard]] LimitedWork& searching() noexcept { return *searching_; }
  /// For attempts at several locks in one call, which have a time to wait: nothing else delays
  /// them.
  [[nodiscard]] LimitedWork& batches() noexcept { return *batches_; }
  [[nodiscard]] MetQueues& met_queues() noexcept { return met_queues_; }

  /// Returns true; false in a child that the process forked.
  [[nodiscard]] bool ours() const noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// Closes for new calls, and wakes callers that Pause. Returns true the first time; false if it
  /// was closed already.
  bool Close() noexcept;
  /// Once it is closed: runs the tasks of After.
  void ResumeAll();
  /// Once it is closed: waits until the last token of Background has gone, but no longer than
  /// `until`.
  void DrainBackground(TimePoint until);

  /// Blocks the caller for a while, or until the manager closes.
  void Pause(std::chrono::nanoseconds time);
  /// Runs the task after a while, or when the manager closes if that is sooner; it is never
  /// dropped.
  void After(std::chrono::nanoseconds time, Runtime::Task task);
  /// Returns a token for background work: DrainBackground waits until its last copy has gone. A
  /// task that captures it ends the work when the task is destroyed, even if it never ran.
  [[nodiscard]] std::shared_ptr<void> Background();

  /// Wakes the waiters of this process after a lock was released here and not handed over: the
  /// store may not give them a hint.
  void Freed(Collection& collection, std::size_t hash) noexcept { on_freed_(collection, hash); }
  /// Who wakes them. To be set before the first call.
  void OnFreed(std::function<void(Collection&, std::size_t)> on_freed) noexcept {
    on_freed_ = std::move(on_freed);
  }

 private:
  /// Takes a task of After that has not run; null when it has.
  Runtime::Task TakeDelayed(std::uint64_t id);
  void Resume(std::uint64_t id);
  void EndBackground() noexcept;

  const std::shared_ptr<Store> store_;
  const ManagerOptions options_;
  const StoreTraits traits_;
  const std::uint32_t fork_generation_;
  const std::shared_ptr<Runtime> runtime_;
  const std::shared_ptr<Batcher> batcher_;
  const std::shared_ptr<Batcher> reads_;
  const std::shared_ptr<LimitedWork> queries_;
  const std::shared_ptr<LimitedWork> searching_;
  const std::shared_ptr<LimitedWork> batches_;
  MetQueues met_queues_;
  std::function<void(Collection&, std::size_t)> on_freed_;

  std::atomic<bool> closed_ = false;
  std::atomic<int> background_ = 0;
  std::mutex mutex_;  ///< Guards what follows.
  std::set<std::shared_ptr<Runtime::Event>> sleeping_callers_;
  std::map<std::uint64_t, Runtime::Task> delayed_tasks_;  ///< What After runs later, by id.
  std::uint64_t last_task_id_ = 0;
  std::shared_ptr<Runtime::Event> drained_;
};

}  // namespace doclock::detail
