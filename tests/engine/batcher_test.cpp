#include "engine/calls/batcher.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <semaphore>
#include <set>
#include <string>
#include <thread>

#include "doclock/open_store.h"
#include "doclock/testing/faulty_store.h"
#include "engine/runtime/hooked_runtime.h"

namespace doclock::detail {
namespace {

using namespace std::chrono_literals;

/// A store of one lane whose calls can be held up, and which remembers its batches.
class GateStore : public testing::FaultyStore {
 public:
  explicit GateStore(int lanes) : FaultyStore(OpenMemoryStore()), lanes_(lanes) {}

  StoreTraits traits() const noexcept override {
    return {.lanes = lanes_, .max_batch = 16, .immediate = false};
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    {
      std::unique_lock lock(mutex_);
      std::set<std::size_t> documents;
      for (const StoreOp* op : ops) EXPECT_TRUE(documents.insert(op->hash).second);
      batches.push_back(ops.size());
      ++inside_;
      EXPECT_LE(inside_, lanes_);
      changed_.notify_all();
      const bool passes = renewals_pass_ && ops.front()->kind == OpKind::kRenew;
      changed_.wait(lock, [&] { return open_ || passes; });
    }
    const std::shared_ptr<void> leave(nullptr, [this](void*) {
      const std::scoped_lock lock(mutex_);
      --inside_;
    });
    FaultyStore::Execute(ops, budget);
  }
  void Shut() {
    const std::scoped_lock lock(mutex_);
    open_ = false;
  }
  void ShutButForRenewals() {
    const std::scoped_lock lock(mutex_);
    open_ = false;
    renewals_pass_ = true;
  }
  void OpenUp() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void AwaitCall(int calls = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= calls; });
  }

  std::vector<std::size_t> batches;

 private:
  const int lanes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  bool renewals_pass_ = false;
  int inside_ = 0;
};

class BatcherTest : public ::testing::TestWithParam<int> {
 protected:
  std::shared_ptr<GateStore> store = std::make_shared<GateStore>(GetParam());
  std::shared_ptr<Runtime> runtime = MakeRuntime(GetParam() + 1);
  std::shared_ptr<Batcher> batcher = std::make_shared<Batcher>(store, *runtime, 10s);
  Collection* collection = store->Open("c", {}, 30s).get();
};

TEST_P(BatcherTest, ALoneCallerRunsOnItsOwnThread) {
  std::thread::id seen;
  store->OnExecute([&](auto) { seen = std::this_thread::get_id(); });
  const Key key("a");
  ReadOp op(*collection, key);
  batcher->Execute(op);
  EXPECT_EQ(op.status, OpStatus::kMissing);
  EXPECT_EQ(seen, std::this_thread::get_id());
}

TEST_P(BatcherTest, WhatQueuesDuringACallTravelsTogether) {
  store->Shut();
  std::vector<std::jthread> callers;
  const auto call = [&](int i) {
    const Key key(i);
    ReadOp op(*collection, key);
    batcher->Execute(op);
    EXPECT_EQ(op.status, OpStatus::kMissing);
  };
  constexpr int kCallers = 40;
  for (int i = 0; i < kCallers; ++i) callers.emplace_back(call, i);
  store->AwaitCall();
  std::this_thread::sleep_for(50ms);  // let most of them queue; correct either way
  store->OpenUp();
  callers.clear();
  std::size_t total = 0;
  for (const std::size_t size : store->batches) {
    EXPECT_LE(size, 16U);
    total += size;
  }
  EXPECT_EQ(total, static_cast<std::size_t>(kCallers));
  EXPECT_LT(store->batches.size(), static_cast<std::size_t>(kCallers));
}

TEST_P(BatcherTest, OneDocumentIsOnceInABatch) {
  std::atomic<int> done = 0;
  constexpr int kOps = 50;
  std::latch all(kOps);
  const Key key("same");
  std::vector<std::unique_ptr<ReadOp>> ops;
  for (int i = 0; i < kOps; ++i) {
    ops.push_back(std::make_unique<ReadOp>(*collection, key));
    batcher->Submit(*ops.back(), [&] {
      ++done;
      all.count_down();
    });
  }
  all.wait();
  EXPECT_EQ(done, kOps);
}

TEST_P(BatcherTest, AThrowingStoreCompletesEveryOperation) {
  store->Inject({.kind = testing::Fault::Kind::kThrow, .op = {}, .key = {}});
  const Key key("a");
  RenewOp renew(*collection, key);
  batcher->Execute(renew);
  EXPECT_EQ(renew.status, OpStatus::kInDoubt);
  EXPECT_TRUE(renew.detail->message.starts_with("the store failed: ")) << renew.detail->message;
  store->Inject({.kind = testing::Fault::Kind::kThrow, .op = {}, .key = {}});
  ReadOp read(*collection, key);
  batcher->Execute(read);
  EXPECT_EQ(read.status, OpStatus::kFailed);
}

/// What became of three reads of one document that were queued while a call ended without an
/// answer.
std::vector<OpStatus> QueuedBehindSilence(const std::shared_ptr<GateStore>& store,
                                          std::chrono::milliseconds budget) {
  std::latch done(4);  // outlives the worker
  const auto runtime = MakeRuntime(1);
  const auto batcher = std::make_shared<Batcher>(store, *runtime, budget);
  Collection* const collection = store->Open("c", {}, 30s).get();
  const Key key("a");
  std::vector<std::unique_ptr<ReadOp>> ops;
  store->Inject({.kind = testing::Fault::Kind::kThrow, .op = {}, .key = {}});
  store->Shut();
  for (int i = 0; i < 4; ++i) {
    ops.push_back(std::make_unique<ReadOp>(*collection, key));
    batcher->Submit(*ops.back(), [&] { done.count_down(); });
  }
  store->AwaitCall();
  store->OpenUp();
  done.wait();
  EXPECT_EQ(ops.front()->status, OpStatus::kFailed);
  std::vector<OpStatus> queued;
  for (std::size_t i = 1; i < ops.size(); ++i) queued.push_back(ops[i]->status);
  ReadOp later(*collection, key);
  batcher->Execute(later);
  EXPECT_EQ(later.status, OpStatus::kMissing);
  return queued;
}

TEST(BatcherSilence, WhatWaitedForLongBehindItIsNotSent) {
  const auto store = std::make_shared<GateStore>(1);
  EXPECT_EQ(QueuedBehindSilence(store, 0ms), std::vector<OpStatus>(3, OpStatus::kFailed));
  EXPECT_EQ(store->batches.size(), 2U);
}

TEST(BatcherSilence, WhatWaitedForAMomentIsSent) {
  const auto store = std::make_shared<GateStore>(1);
  EXPECT_EQ(QueuedBehindSilence(store, 1h), std::vector<OpStatus>(3, OpStatus::kMissing));
  EXPECT_EQ(store->batches.size(), 5U);
}

TEST(BatcherLanes, OperationsRunSideBySideWhileLanesAreFree) {
  std::latch queued(1), done(3);  // outlive the workers
  const auto store = std::make_shared<GateStore>(4);
  const auto runtime = MakeRuntime(4);
  const auto batcher = std::make_shared<Batcher>(store, *runtime, 10s);
  Collection* const collection = store->Open("c", {}, 30s).get();
  // The workers begin together, when all operations have queued.
  for (int i = 0; i < 4; ++i) runtime->Work([&] { queued.wait(); });
  const std::array<Key, 3> keys{Key(1), Key(2), Key(3)};
  std::vector<std::unique_ptr<ReadOp>> ops;
  for (const Key& key : keys) {
    ops.push_back(std::make_unique<ReadOp>(*collection, key));
    batcher->Submit(*ops.back(), [&] { done.count_down(); });
  }
  queued.count_down();
  done.wait();
  EXPECT_EQ(store->batches, (std::vector<std::size_t>{1, 1, 1}));
}

/// A store in which another client keeps documents. It waits in vain, until it lets a call pass.
class KeepingStore final : public GateStore {
 public:
  using GateStore::GateStore;
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    std::vector<StoreOp*> free;
    for (StoreOp* const op : ops) {
      const bool by_another =
          kept.contains(*op->key) || (ops.size() > 1 && kept_in_batches.contains(*op->key));
      if (!by_another) {
        free.push_back(op);
      } else if (op->if_kept == IfKept::kLeave) {
        op->status = OpStatus::kKept;
      } else {
        EXPECT_EQ(ops.size(), 1U);
        WaitFor(*op);
      }
    }
    if (!free.empty()) GateStore::Execute(free, budget);
  }
  void WaitFor(StoreOp& op) {
    std::unique_lock lock(waiting_);
    EXPECT_LE(++waits_, Batcher::kKeptAtOnce);
    order.push_back(*op.key);
    changed_.notify_all();
    changed_.wait(lock, [&] { return passes_ > 0; });
    --passes_;
    --waits_;
    op.Fail(Errc::kUnavailable, "kept");
  }
  void AwaitWaits(std::size_t count) {
    std::unique_lock lock(waiting_);
    changed_.wait(lock, [&] { return order.size() >= count; });
  }
  void LetPass(int calls) {
    const std::scoped_lock lock(waiting_);
    passes_ += calls;
    changed_.notify_all();
  }

  std::set<Key> kept, kept_in_batches;
  std::vector<Key> order;  ///< In which it waited.

 private:
  std::mutex waiting_;
  std::condition_variable changed_;
  int waits_ = 0, passes_ = 0;
};

class BatcherKept : public ::testing::Test {
 protected:
  AcquireOp Wanted(const Key& key) {
    AcquireOp op(*collection, key);
    op.request.grant.lock_id = NewUuid();
    op.request.grant.ttl = 1min;
    return op;
  }
  BatcherKept() {
    store->kept = {keys.begin(), keys.end()};
    store->kept.insert(held);
  }
  template <class Op>
  void Submit(Op op) {
    auto shared = std::make_shared<Op>(std::move(op));
    batcher->Submit(*shared, [this, shared] {
      EXPECT_EQ(shared->status, OpStatus::kFailed);
      done.release();
    });
  }
  /// Another document's read, which comes behind what was submitted in the only lane.
  void ReadAnother() {
    const Key free("free");
    ReadOp read(*collection, free);
    batcher->Execute(read);
    EXPECT_EQ(read.status, OpStatus::kMissing);
  }
  void Finish(int count) {
    store->LetPass(count);
    for (int i = 0; i < count; ++i) done.acquire();
  }

  std::vector<Key> keys = [] {
    std::vector<Key> all;
    for (int i = 0; i < 12; ++i) all.emplace_back(i);
    return all;
  }();
  const Key held{"held"};
  std::counting_semaphore<> done{0};
  std::shared_ptr<KeepingStore> store = std::make_shared<KeepingStore>(2);
  std::shared_ptr<Runtime> runtime = MakeRuntime(2 + Batcher::kKeptAtOnce);
  std::shared_ptr<Batcher> batcher = std::make_shared<Batcher>(store, *runtime, 1h);
  Collection* collection = store->Open("c", {}, 30s).get();
};

TEST_F(BatcherKept, WhatOthersKeepTakesNoLane) {
  std::vector<std::jthread> callers;
  for (const Key& key : keys) {
    callers.emplace_back([&] {
      AcquireOp op = Wanted(key);
      batcher->Execute(op);
      EXPECT_EQ(op.status, OpStatus::kFailed);
    });
  }
  store->AwaitWaits(Batcher::kKeptAtOnce);
  for (int i = 0; i < 20; ++i) ReadAnother();
  EXPECT_EQ(store->order.size(), static_cast<std::size_t>(Batcher::kKeptAtOnce));
  store->LetPass(static_cast<int>(keys.size()));
  callers.clear();
  EXPECT_EQ(store->order.size(), keys.size());
}

TEST_F(BatcherKept, WhatOthersKeepForAMomentComesIntoAnotherBatch) {
  const Key brief("brief");
  store->kept.clear();
  store->kept_in_batches = {brief};
  store->Shut();
  std::jthread first([&] { ReadAnother(); });
  store->AwaitCall();
  AcquireOp wanted = Wanted(brief), other = Wanted(keys[0]);
  batcher->Submit(wanted, [&] { done.release(); });
  batcher->Submit(other, [&] { done.release(); });
  store->OpenUp();
  for (int i = 0; i < 2; ++i) done.acquire();
  EXPECT_EQ(wanted.status, OpStatus::kMissing);
  EXPECT_TRUE(store->order.empty());
}

TEST_F(BatcherKept, HoldersWritesComeBeforeThoseWhoWantALock) {
  for (int i = 0; i < 8; ++i) Submit(Wanted(keys[static_cast<std::size_t>(i)]));
  store->AwaitWaits(4);
  SaveOp save(*collection, keys[8]);
  save.request.save = SaveKind::kErase;
  Submit(std::move(save));
  Submit(WriteOp(*collection, held));
  for (int i = 0; i < Batcher::kLooks; ++i)
    ReadAnother();  // each behind a look at what came before
  store->LetPass(1);
  store->AwaitWaits(5);
  EXPECT_EQ(store->order.back(), held);
  store->LetPass(1);
  store->AwaitWaits(6);
  EXPECT_EQ(store->order.back(), keys[8]);
  Finish(10);
}

TEST_F(BatcherKept, OneCallIsLeftToThoseWhoWantALock) {
  for (std::size_t i = 0; i < 6; ++i) Submit(WriteOp(*collection, keys[i]));
  store->AwaitWaits(3);
  ReadAnother();
  Submit(Wanted(held));
  store->AwaitWaits(4);
  EXPECT_EQ(store->order.back(), held);
  Finish(7);
}

TEST_F(BatcherKept, WhatHasStoodBehindOthersForLongIsNotSent) {
  const auto hasty = std::make_shared<Batcher>(store, *runtime, 0ms);
  AcquireOp op = Wanted(held);
  hasty->Execute(op);
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
  EXPECT_TRUE(store->order.empty());
}

TEST_P(BatcherTest, BlockedAndAsynchronousCallersMix) {
  std::atomic<int> done = 0;
  constexpr int kThreads = 4, kEach = 300;
  std::latch asynchronous(kThreads * kEach);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::unique_ptr<Key>> keys;
      std::vector<std::unique_ptr<ReadOp>> later;
      for (int i = 0; i < kEach; ++i) {
        const Key key(t * kEach + i);
        ReadOp op(*collection, key);
        batcher->Execute(op);
        ++done;
        keys.push_back(std::make_unique<Key>(-1 - i));
        later.push_back(std::make_unique<ReadOp>(*collection, *keys.back()));
        batcher->Submit(*later.back(), [&] {
          ++done;
          asynchronous.count_down();
        });
      }
      asynchronous.wait();
    });
  }
  threads.clear();
  EXPECT_EQ(done, 2 * kThreads * kEach);
}

TEST(BatcherLanesTest, TheLaneThatACallerTookItselfIsNotFreeMeanwhile) {
  const auto store = std::make_shared<GateStore>(1);
  HookedRuntime runtime(MakeRuntime(1));
  runtime.on_work = [](const Runtime::Task& task) { task(); };
  const auto batcher = std::make_shared<Batcher>(store, runtime, 10s);
  Collection& collection = *store->Open("c", {}, 30s);
  const Key key("a"), other("b");
  RenewOp renew(collection, other);
  for (int i = 0; i < 3; ++i) {
    ReadOp op(collection, key);
    bool renewed = false;
    store->OnExecute([&](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != OpKind::kRead) return;
      batcher->SubmitRenewals({&renew}, [&] { renewed = true; });
      EXPECT_FALSE(renewed) << "the only lane is taken";
    });
    batcher->Execute(op);
    EXPECT_TRUE(renewed);
  }
  store->OnExecute({});
}

/// The order in which a store of one lane is asked.
class BatchOrderTest : public BatcherTest {
 protected:
  BatchOrderTest() {
    store->OnExecute([this](std::span<StoreOp* const> batch) {
      std::string call;
      for (const StoreOp* op : batch) {
        call += (op->kind == OpKind::kRenew ? "renew " : "") + op->key->ToString() + ",";
      }
      calls.push_back(call);
    });
    store->Shut();
    Read(first);
    store->AwaitCall();
  }
  void Read(const Key& key) {
    ops.push_back(std::make_unique<ReadOp>(*collection, key));
    ++wanted;
    batcher->Submit(*ops.back(), [this] { done.release(); });
  }
  void Finish() {
    store->OpenUp();
    for (; wanted > 0; --wanted) done.acquire();
  }

  const Key first{"first"}, hot{"hot"}, other{"other"};
  std::vector<std::unique_ptr<ReadOp>> ops;
  std::vector<std::string> calls;
  std::counting_semaphore<> done{0};
  int wanted = 0;
};

TEST_P(BatchOrderTest, RenewalsGoBeforeWhatCameEarlier) {
  for (int i = 0; i < 100; ++i) Read(hot);
  RenewOp renew(*collection, other);
  ++wanted;
  batcher->SubmitRenewals({&renew}, [this] { done.release(); });
  Finish();
  ASSERT_EQ(calls.size(), 102U);
  EXPECT_EQ(calls[1], "renew other,");
}

TEST_P(BatchOrderTest, OperationsOnOneDocumentTakeTurnsWithOthers) {
  for (int i = 0; i < 100; ++i) Read(hot);
  Read(other);
  Read(other);
  Finish();
  ASSERT_EQ(calls.size(), 101U);
  EXPECT_EQ(calls[1], "hot,other,");
  EXPECT_EQ(calls[2], "hot,other,");
  EXPECT_EQ(calls[3], "hot,");
}

class SeveralLanesTest : public BatcherTest {};

TEST_P(SeveralLanesTest, OneIsLeftToRenewals) {
  store->ShutButForRenewals();
  std::vector<std::jthread> callers;
  for (int i = 0; i < GetParam(); ++i) {
    callers.emplace_back([&, i] {
      const Key key(i);
      ReadOp op(*collection, key);
      batcher->Execute(op);
    });
  }
  store->AwaitCall(GetParam() - 1);
  const Key other("other");
  ReadOp read(*collection, other);
  std::latch asked(1);
  batcher->Submit(read, [&] { asked.count_down(); });
  for (int i = 0; i < 3; ++i) {  // a lane that renewals leave is not for others either
    RenewOp renew(*collection, other);
    std::binary_semaphore renewed(0);
    batcher->SubmitRenewals({&renew}, [&] { renewed.release(); });
    const bool in_time = renewed.try_acquire_for(10s);
    EXPECT_TRUE(in_time);
    if (in_time) continue;
    store->OpenUp();
    renewed.acquire();
    break;
  }
  store->OpenUp();
  callers.clear();
  asked.wait();
  EXPECT_EQ(read.status, OpStatus::kMissing);
}

INSTANTIATE_TEST_SUITE_P(Lanes, SeveralLanesTest, ::testing::Values(2, 4));
INSTANTIATE_TEST_SUITE_P(OneLane, BatchOrderTest, ::testing::Values(1));
INSTANTIATE_TEST_SUITE_P(Lanes, BatcherTest, ::testing::Values(1, 4));

}  // namespace
}  // namespace doclock::detail
