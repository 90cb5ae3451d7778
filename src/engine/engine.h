#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "doclock/detail/engine.h"
#include "doclock/lock_manager.h"
#include "doclock/options.h"
#include "doclock/store/store.h"
#include "engine/calls/store_calls.h"
#include "engine/leases/lease_book.h"
#include "engine/waiting/wait_table.h"

namespace doclock::detail {

/// The state that the copies of one LockManager share: the parts below, and their shutdown. All
/// lock operations on one store in this process go through here. Only verbs know it: each part
/// knows those before it. Thread-safe.
class Engine {
 public:
  static EnginePtr Make(std::shared_ptr<Store> store, ManagerOptions options);
  Engine(std::shared_ptr<Store> store, ManagerOptions options);

  [[nodiscard]] StoreCalls& calls() noexcept { return *calls_; }
  [[nodiscard]] LeaseBook& leases() noexcept { return *leases_; }
  [[nodiscard]] const std::shared_ptr<WaitTable>& shared_waits() const noexcept { return waits_; }
  [[nodiscard]] WaitTable& waits() noexcept { return *waits_; }
  /// The owner of locks for which the caller names none.
  [[nodiscard]] const OwnerPtr& owner() const noexcept { return owner_; }

  [[nodiscard]] Store& store() noexcept { return calls_->store(); }
  [[nodiscard]] const ManagerOptions& options() const noexcept { return calls_->options(); }
  [[nodiscard]] const StoreTraits& traits() const noexcept { return calls_->traits(); }
  [[nodiscard]] Runtime& runtime() noexcept { return calls_->runtime(); }
  [[nodiscard]] Events& events() noexcept { return leases_->events(); }
  [[nodiscard]] TimePoint Now() const noexcept { return calls_->Now(); }
  [[nodiscard]] bool ours() const noexcept { return calls_->ours(); }
  [[nodiscard]] bool closed() const noexcept { return calls_->closed(); }
  [[nodiscard]] std::shared_ptr<void> Background() { return calls_->Background(); }

  /// Ends waits and renewals, waits a bounded time for background work, ends the threads. A second
  /// call waits for the first.
  void Close() noexcept;

 private:
  void AwaitClosed();

  const OwnerPtr owner_;
  const std::shared_ptr<StoreCalls> calls_;
  std::shared_ptr<LeaseBook> leases_;
  std::shared_ptr<WaitTable> waits_;

  std::mutex mutex_;  ///< Guards what follows.
  bool threads_ended_ = false;
  std::condition_variable closing_changed_;
};

/// Why no verb may begin; null if it may.
FailurePtr WhyClosed(const Engine& engine) noexcept;

}  // namespace doclock::detail
