#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "doclock/open_store.h"
#include "doclock/testing/faulty_store.h"

namespace doclock::detail {

/// The purpose of a call of a store.
enum class CallKind { kBatch, kRenewal, kReads, kQuery, kSearch, kSubscription };

/// A store of one lane in which calls of some kinds hang until they are let go.
class HangingStore final : public testing::FaultyStore {
 public:
  explicit HangingStore(bool reads_apart = false)
      : FaultyStore(OpenMemoryStore()), reads_apart_(reads_apart) {}
  ~HangingStore() override { LetGo(); }

  void Hang(std::set<CallKind> kinds) {
    const std::scoped_lock lock(mutex_);
    hanging_ = std::move(kinds);
  }
  void LetGo() {
    Hang({});
    changed_.notify_all();
  }
  /// Waits until this many calls hang.
  bool AwaitHanging(int calls) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(5), [&] { return inside_ >= calls; });
  }

  std::atomic<int> read_calls = 0;

  StoreTraits traits() const noexcept override {
    return {.lanes = 1, .max_batch = 16, .immediate = false, .reads_apart = reads_apart_};
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    const CallKind kind = KindOf(ops);
    if (kind == CallKind::kReads) ++read_calls;
    Enter(kind);
    FaultyStore::Execute(ops, budget);
  }
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override {
    Enter(CallKind::kQuery);
    FaultyStore::Query(collection, filter, sink, budget);
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    Enter(CallKind::kSearch);
    FaultyStore::AcquireNext(filter, op, key, budget);
  }
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    Enter(CallKind::kSubscription);
    return FaultyStore::Watch(collection, std::move(listener));
  }

 private:
  static CallKind KindOf(std::span<StoreOp* const> ops) {
    if (ops.front()->kind == OpKind::kRenew) return CallKind::kRenewal;
    const bool reads = std::all_of(ops.begin(), ops.end(),
                                   [](const StoreOp* op) { return op->kind == OpKind::kRead; });
    return reads ? CallKind::kReads : CallKind::kBatch;
  }
  void Enter(CallKind kind) {
    std::unique_lock lock(mutex_);
    if (!hanging_.contains(kind)) return;
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !hanging_.contains(kind); });
    --inside_;
  }

  const bool reads_apart_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<CallKind> hanging_;
  int inside_ = 0;
};

}  // namespace doclock::detail
