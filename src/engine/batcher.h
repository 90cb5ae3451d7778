#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "doclock/runtime.h"
#include "doclock/store.h"

namespace doclock::detail {

/// The only caller of Store::Execute: group commit. While a call is in flight, operations queue;
/// the next call takes them all. A lone blocking caller runs its call on its own thread (it leads,
/// for one batch, then leadership passes on); asynchronous operations are led by workers.
///
/// Thread-safe. Whatever a call throws completes every operation in it.
class Batcher : public std::enable_shared_from_this<Batcher> {
 public:
  Batcher(std::shared_ptr<Store> store, Runtime& runtime, std::chrono::milliseconds budget);
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Executes one operation and returns when it has its result.
  void Execute(StoreOp& op);

  /// Executes one operation later; `done` runs on a worker once it has its result. `op` must live
  /// until then.
  void Submit(StoreOp& op, std::function<void()> done);

  /// Executes a ready-made batch in one call: renewals of different documents, or of different
  /// shares of one.
  void SubmitBatch(std::vector<StoreOp*> ops, std::function<void()> done);

 private:
  struct Pending;
  using Pendings = std::vector<Pending*>;

  void Run(std::span<StoreOp* const> ops) noexcept;
  /// Takes the next batch off the queue, after `first` (may be null). Needs the lock.
  Pendings TakeBatch(Pending* first);
  /// Executes one batch, hands the lane on and then wakes those who waited.
  void Lead(Pendings batch);
  /// Gives the lane to the next in the queue, or frees it.
  void PassOn();
  void Enqueue(Pending* pending);
  void LeadOnWorker();
  void StartWorker();

  const std::shared_ptr<Store> store_;
  Runtime& runtime_;
  const std::chrono::milliseconds budget_;
  const StoreTraits traits_;
  std::mutex mutex_;
  std::deque<Pending*> queue_;
  int free_lanes_;
};

}  // namespace doclock::detail
