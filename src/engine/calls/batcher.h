#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "doclock/lock_manager.h"
#include "doclock/store/store.h"

namespace doclock::detail {

/// Group commit: all operations on one document, and renewals, go through here. While every lane is
/// taken, operations queue; the next call takes one per document. A lone blocking caller runs its
/// call on its own thread (it leads one batch, then leadership passes on). Workers lead the
/// operations of asynchronous callers.
///
/// Renewals go before everything else. If there are several lanes, one is reserved for them:
/// operations that hang in the store take only the others. Operations on one document take turns
/// with those on others: the second waits until the first was sent, and then queues at the end.
///
/// What another client's transaction keeps (OpStatus::kKept) keeps no lane. Mostly that is a matter
/// of milliseconds: it comes into another batch. In the end it goes alone, in a call of its own
/// that waits, few of them at once. Of those that may wait for long holders' writes go first, and
/// one call is left to those that want a lock.
///
/// While the store gives no answer, operations that have waited behind such a call for half of its
/// budget are not sent: else each would wait for a budget of its own, one after the other.
///
/// Thread-safe. An exception of a call completes every operation in it.
class Batcher : public std::enable_shared_from_this<Batcher> {
 public:
  /// `lanes`: how many calls run at once; 0: as many as the store's traits say.
  Batcher(std::shared_ptr<Store> store, Runtime& runtime, std::chrono::milliseconds budget,
          int lanes = 0);
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  /// Executes one operation and returns when it has its result.
  void Execute(StoreOp& op);

  /// Executes operations at once, in a call of their own that takes no lane: reads of a store that
  /// reads apart from writes, and a ready-made batch.
  void ExecuteApart(std::span<StoreOp* const> ops) noexcept { Run(ops); }

  /// Stores several documents together, in a call of its own that takes no lane.
  void Commit(CommitOp& commit) noexcept;

  /// Executes one operation later; `done` runs on a worker once it has its result. `op` must live
  /// until then.
  void Submit(StoreOp& op, std::function<void()> done);

  /// How many calls at once wait for documents that other clients' transactions keep, beside the
  /// lanes.
  static constexpr int kKeptAtOnce = 4;
  /// How many batches may find a document kept before its operation goes alone.
  static constexpr int kLooks = 4;

  /// Executes a ready-made batch in one call, before what else is queued: renewals of different
  /// documents, or of different shares of one.
  void SubmitRenewals(std::vector<StoreOp*> ops, std::function<void()> done);

 private:
  /// An operation in the queue, or a ready-made batch. One with an event belongs to a blocked
  /// caller and lives on its stack; one with a `done` lives on the heap.
  struct Pending : boost::intrusive::list_base_hook<> {
    StoreOp* op = nullptr;
    std::vector<StoreOp*> renewals;
    std::function<void()> done;
    Runtime::Event* event = nullptr;
    Pending* behind = nullptr;  ///< The next operation on the same document.
    TimePoint queued{};         ///< Or left kept.
    bool taken = false;         ///< In a batch, or about to lead one.
    bool promoted = false;      ///< Woken to lead, not for its result.
    bool kept = false;          ///< In one of the lists of what is kept.
    int looks = 0;              ///< How many batches have found it kept.

    /// Signals the result. Deletes itself if it lives on the heap.
    void Complete();
  };
  using Pendings = boost::intrusive::list<Pending>;

  void Call(std::span<StoreOp* const> ops, std::chrono::nanoseconds budget) noexcept;
  void Run(std::span<StoreOp* const> ops) noexcept;
  void Run(const Pendings& batch) noexcept;
  /// Has it waited for long behind a call without an answer, the last one that ended?
  [[nodiscard]] bool IsBehindSilence(const Pending& pending) const noexcept;
  void Submit(std::unique_ptr<Pending> pending);
  /// Executes the batch, releases the lane, and then runs the continuations that wait for the
  /// results.
  void Lead(Pendings batch);
  /// Passes the lane, which had operations or renewals, on to the next batch, or frees it.
  void ReleaseLane(bool of_ops) noexcept;
  void Enqueue(Pending& pending);
  /// Returns whether it went in a call of its own. @param looks see Pending
  bool ExecuteInLane(StoreOp& op, int& looks);
  /// Executes an operation that was left kept once more, and returns when it has its result.
  void AwaitKept(StoreOp& op);
  /// Takes those that were left kept out of a batch, not the leader's: to queue again, or to be
  /// executed alone. Returns how many workers are to come for them.
  [[nodiscard]] int TakeOutKept(Pendings& batch) noexcept;
  void StartForKept(int workers) noexcept;
  /// For a worker: executes one of those that are kept.
  void ExecuteKept() noexcept;
  /// Null: there is none that the worker may take, and it ends.
  [[nodiscard]] Pending* TakeKept() noexcept;
  /// A worker has executed one. Returns how many are to come in its place.
  [[nodiscard]] int PassOnKept(bool was_long) noexcept;
  /// Waits for the event of a blocked caller's operation.
  void Await(Pending& pending);
  /// Withdraws a blocked caller's operation, unless it is in a batch already.
  void Withdraw(Pending& pending) noexcept;
  /// Leads the next batch on the lane that a worker has come for; frees it if there is none.
  void LeadOnWorker();
  void StartWorker() noexcept;

  // These need the lock.
  /// The list whose first is next; null: none.
  [[nodiscard]] Pendings* NextKept() noexcept;
  Pendings& ListOfKept(const StoreOp& op) noexcept {
    return op.kind == OpKind::kAcquire ? kept_wanted_ : kept_;
  }
  [[nodiscard]] bool Idle() const noexcept { return queue_.empty() && renewals_.empty(); }
  /// Is there anything that a free lane may take?
  [[nodiscard]] bool Ready() const noexcept {
    return !renewals_.empty() || (!queue_.empty() && op_lanes_ > 0);
  }
  /// Takes the next batch off the queue: what is ready, or `first` (unless it is null) and others.
  Pendings TakeBatch(Pending* first) noexcept;
  void Insert(Pending& pending);
  /// Lets the next operation on the document of `pending` into the queue.
  void NextInLine(Pending& pending) noexcept;

  const std::shared_ptr<Store> store_;
  Runtime& runtime_;
  const std::chrono::milliseconds budget_;
  const StoreTraits traits_;
  std::mutex mutex_;
  Pendings renewals_;
  Pendings queue_;        ///< At most one of each document.
  Pendings kept_;         ///< What may wait for long, holders' writes first.
  Pendings kept_wanted_;  ///< Those that want a lock.
  int kept_workers_ = 0;  ///< Those that execute what is kept, or come for it.
  int long_waits_ = 0;    ///< How many of them may wait for long.
  /// When the last call ended, if it had no answer.
  std::atomic<TimePoint> silent_{TimePoint::min()};
  /// The last operation on each document in the queue, by its hash and its collection's: equal ones
  /// count as the same document.
  std::unordered_map<std::size_t, Pending*> last_;
  int free_lanes_;
  int coming_ = 0;  ///< Workers that were started for a lane and have taken no batch yet.
  int op_lanes_;    ///< How many more lanes operations may take, of those that are free.
};

}  // namespace doclock::detail
