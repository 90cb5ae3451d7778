#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "doclock/detail/engine.h"
#include "doclock/options.h"
#include "doclock/runtime.h"
#include "doclock/store.h"
#include "engine/batcher.h"
#include "engine/events.h"
#include "engine/leases/keeper.h"
#include "engine/runtime/limited_work.h"
#include "engine/waiting/hints.h"
#include "engine/waiting/met_queues.h"
#include "engine/waiting/next_searches.h"
#include "engine/waiting/pending_set.h"
#include "engine/waiting/wait_table.h"

namespace doclock::detail {

/// The state that the copies of one LockManager share: the parts below, and their shutdown. All
/// lock operations on one store in this process go through here. Thread-safe.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  static EnginePtr Make(std::shared_ptr<Store> store, ManagerOptions options);
  Engine(std::shared_ptr<Store> store, ManagerOptions options);
  ~Engine();

  [[nodiscard]] Store& store() noexcept { return *store_; }
  [[nodiscard]] const std::shared_ptr<Store>& shared_store() const noexcept { return store_; }
  [[nodiscard]] const ManagerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const StoreTraits& traits() const noexcept { return traits_; }
  /// Do waiters stand in a queue of the store, with those of other processes?
  [[nodiscard]] bool store_has_queue() const noexcept { return traits_.queues && traits_.shared; }
  [[nodiscard]] Runtime& runtime() noexcept { return *runtime_; }
  [[nodiscard]] Batcher& batcher() noexcept { return *batcher_; }
  /// For reads by key of asynchronous callers. If the store reads apart from writes, it has a lane
  /// of its own, and no other kind of call delays them.
  [[nodiscard]] Batcher& reads() noexcept { return *reads_; }
  [[nodiscard]] LimitedWork& queries() noexcept { return *queries_; }
  /// For LockNext and transactions. They write, so where reads go apart from writes, no query waits
  /// for them.
  [[nodiscard]] LimitedWork& searching() noexcept { return *searching_; }
  /// For beginning and ending subscriptions to hints: one at a time, in order.
  [[nodiscard]] LimitedWork& subscribing() noexcept { return *subscribing_; }
  [[nodiscard]] Keeper& keeper() noexcept { return *keeper_; }
  [[nodiscard]] PendingSet& pendings() noexcept { return *pendings_; }
  [[nodiscard]] WaitTable& waits() noexcept { return *waits_; }
  [[nodiscard]] NextSearches& searches() noexcept { return *searches_; }
  [[nodiscard]] Hints& hints() noexcept { return *hints_; }
  [[nodiscard]] MetQueues& met_queues() noexcept { return met_queues_; }
  [[nodiscard]] Events& events() noexcept { return events_; }
  /// The owner of locks for which the caller names none.
  [[nodiscard]] const OwnerPtr& owner() const noexcept { return owner_; }

  [[nodiscard]] TimePoint Now() const noexcept { return runtime_->Now(); }
  /// The moment when a holder must stop whose grant or renewal was sent at `sent`: before another
  /// client can get the lock, by a tenth of a percent for clock drift and by the store's margin.
  [[nodiscard]] TimePoint DeadlineOf(TimePoint sent, std::chrono::milliseconds ttl) const noexcept;

  /// False in a child that the process forked.
  [[nodiscard]] bool ours() const noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// Ends waits and renewals, waits a bounded time for background work, ends the threads. A second
  /// call waits for the first.
  void Close() noexcept;

  /// Declares the lease lost: it is over, or another client has the lock. Final.
  void Lose(Lease& lease) noexcept;
  /// Releases the lock of a lost lease that the store may hold for longer than the holder knew.
  void GiveBackLost(Lease& lease) noexcept;
  /// Records that the store has renewed the lease for `ttl`, by a request sent at `sent`. False:
  /// the lock was lost before the answer came. That is final, so the lock is released in the
  /// background: others need not wait until the new lease has ended.
  bool Prolong(Lease& lease, TimePoint sent, std::chrono::milliseconds ttl) noexcept;
  /// Makes the lease of a granted lock, and keeps it renewed. Null if it is over already, or the
  /// engine is closed: then the lock is released in the background. So it is where this throws.
  /// `passed_on`: it was granted from the store's queue, after `sent`.
  LeasePtr MakeLease(const AcquireSpec& spec, const Key& key, const GrantRequest& grant,
                     std::int64_t version, const Uuid& born, Body body, TimePoint sent,
                     bool passed_on = false);

  /// A hint from the store, on any thread, for waiters and searches of this process.
  void Hear(Collection& collection, const LockHint& hint) noexcept;
  /// Wakes the waiters of this process after a lock was released here and not handed over: the
  /// store may not give them a hint.
  void Freed(Collection& collection, std::size_t hash) noexcept;
  void FreedForSearches(Collection& collection) noexcept;
  /// Likewise wakes searches after a document was inserted or saved: it may match.
  void Saved(const SaveOp& save) noexcept {
    if (save.request.Writes() && save.request.save != SaveKind::kErase) {
      FreedForSearches(*save.collection);
    }
  }

  /// Blocks the caller for a while, or until the engine closes.
  void Pause(std::chrono::nanoseconds time);
  /// Runs the task after a while, or when the engine closes if that is sooner; it is never dropped.
  void After(std::chrono::nanoseconds time, Runtime::Task task);

  /// A token for background work: Close waits until its last copy is gone. A task that captures it
  /// ends the work when the task is destroyed, even if it never ran.
  [[nodiscard]] std::shared_ptr<void> Background();

 private:
  /// Takes a task of After that has not run; null when it has.
  Runtime::Task TakeDelayed(std::uint64_t id);
  void Resume(std::uint64_t id);
  void ResumeAll();
  void EndBackground() noexcept;
  void EndSubscriptions();
  void DrainBackground(TimePoint until);
  void AwaitClosed();

  const std::shared_ptr<Store> store_;
  const ManagerOptions options_;
  const StoreTraits traits_;
  const bool owns_runtime_;
  const std::uint32_t fork_generation_;
  const std::shared_ptr<Runtime> runtime_;
  const OwnerPtr owner_;
  Events events_;
  const std::shared_ptr<Batcher> batcher_;
  const std::shared_ptr<Batcher> reads_;
  const std::shared_ptr<LimitedWork> queries_;
  const std::shared_ptr<LimitedWork> searching_;
  const std::shared_ptr<LimitedWork> subscribing_;
  std::shared_ptr<Keeper> keeper_;
  std::unique_ptr<PendingSet> pendings_;
  std::shared_ptr<WaitTable> waits_;
  std::shared_ptr<NextSearches> searches_;
  std::unique_ptr<Hints> hints_;
  MetQueues met_queues_;

  std::atomic<bool> closed_ = false;
  std::atomic<int> background_ = 0;
  std::mutex mutex_;  ///< Guards what follows.
  std::set<std::shared_ptr<Runtime::Event>> sleeping_callers_;
  std::map<std::uint64_t, Runtime::Task> delayed_tasks_;  ///< Of After, by id.
  std::uint64_t last_task_id_ = 0;
  std::shared_ptr<Runtime::Event> drained_;
  bool threads_ended_ = false;
  std::condition_variable closing_changed_;
};

/// Why no verb may begin; null if it may.
FailurePtr WhyClosed(const Engine& engine) noexcept;

/// The request to the store, under a fresh id.
GrantRequest MakeGrant(const AcquireSpec& spec);

/// "document 'key' of 'collection'", for error texts.
std::string Describe(const Collection& collection, const Key& key);

/// For error texts: `what` was granted too late, and by how much the store's clocks may differ if
/// that can be the reason.
std::string GrantedTooLate(Engine& engine, const std::string& what);

}  // namespace doclock::detail
