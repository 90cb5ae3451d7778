#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// A store on which another process always waits.
class ContendedStore : public TestStore {
 public:
  using TestStore::TestStore;
  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits = TestStore::traits();
    traits.others_may_wait = true;
    return traits;
  }
};

/// Its collections take turns with clients that poll: after one second, for half a second.
class TurnsStore : public ContendedStore {
 public:
  using ContendedStore::ContendedStore;
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds ttl) override {
    if (!inner_) inner_ = ContendedStore::Open(name, fields, ttl);
    if (!outer_) outer_ = std::make_shared<TurnsCollection>(name, fields, ttl);
    return outer_;
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    for (StoreOp* const op : ops) op->collection = inner_.get();
    ContendedStore::Execute(ops, budget);
    for (StoreOp* const op : ops) op->collection = outer_.get();
  }
  std::unique_ptr<Subscription> Watch(Collection&, HintListener) override { return nullptr; }

 private:
  class TurnsCollection : public Collection {
   public:
    using Collection::Collection;
    [[nodiscard]] const Turns* turns() const noexcept override {
      static constexpr Turns kTurns{1s, 500ms};
      return &kTurns;
    }
  };
  std::shared_ptr<Collection> inner_, outer_;
};

/// ManagerOptions::max_handovers.
class HandOverLimitTest : public EngineTest {
 protected:
  static constexpr int kLimit = 3;

  /// Which writes hand the lock over.
  void NoteWrites() {
    store->OnExecute([handed = handed](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != OpKind::kWrite) return;
      handed->push_back(static_cast<const WriteOp&>(*ops.front()).request.next != nullptr);
    });
  }
  std::vector<bool> RunQueue(int length) {
    Grant held = Lock("a");
    std::vector<std::shared_ptr<Waiting>> queue;
    for (int i = 0; i < length; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
    NoteWrites();
    EXPECT_FALSE(ReleaseWith(held, {{"n", 0}}));
    for (const auto& waiting : queue) {
      clock->Advance(10ms);
      if (!waiting->granted()) break;
      EXPECT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 0}}));
    }
    return *handed;
  }
  /// Shared with the store, which still executes when the test is gone.
  const std::shared_ptr<std::vector<bool>> handed = std::make_shared<std::vector<bool>>();
  void BeContended() {
    store = std::make_shared<ContendedStore>(OpenMemoryStore({.clock = clock}));
    manager.emplace(store, ManagerOptions{.max_handovers = kLimit, .runtime = clock->runtime()});
    collection = store->Open("orders", {}, 30s).get();
  }
};

TEST_F(HandOverLimitTest, AfterTheLimitOneReleaseIsForAllWaiters) {
  BeContended();
  EXPECT_EQ(RunQueue(8),
            (std::vector<bool>{true, true, true, false, true, true, true, false, false}));
}

/// Two callers that take turns leave no moment without a holder, and an empty queue with each turn.
TEST_F(HandOverLimitTest, TakingTurnsCountsThoughNobodyIsLeftInTheQueue) {
  BeContended();
  NoteWrites();
  Grant held = Lock("a");
  for (int turn = 0; turn < 5; ++turn) {
    const auto next = LockLater("a", {.wait = kForever});
    ASSERT_FALSE(ReleaseWith(held, {{"n", 0}}));
    clock->Advance(10ms);
    ASSERT_TRUE(next->granted());
    held = std::move(next->result->grant);
  }
  EXPECT_EQ(*handed, (std::vector<bool>{true, true, true, false, true}));
}

TEST_F(HandOverLimitTest, ThereIsNoneWhereNoOtherProcessCanWait) {
  std::vector<bool> all(20, true);
  all.push_back(false);
  EXPECT_EQ(RunQueue(20), all);
}

TEST_F(HandOverLimitTest, WhereClientsPollTheTimeDecidesAndTheTurnIsLonger) {
  store = std::make_shared<TurnsStore>(OpenMemoryStore({.clock = clock}));
  manager.emplace(store, ManagerOptions{.max_handovers = kLimit, .runtime = clock->runtime()});
  const auto open = store->Open("orders", {}, 30s);
  collection = open.get();
  Grant held = Lock("a");
  std::vector<std::shared_ptr<Waiting>> queue;
  for (int i = 0; i < 20; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
  auto next = queue.begin();
  const auto hand_over = [&](std::chrono::milliseconds after) {
    clock->Advance(after);
    EXPECT_FALSE(Write(held.lease, WriteKind::kRelease, Body()));
    clock->RunPending();
    if (!(*next)->granted()) return false;
    held = std::move((*next++)->result->grant);
    return true;
  };
  // More of them than max_handovers.
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(hand_over(100ms)) << i;
  EXPECT_FALSE(hand_over(100ms));
  clock->Advance(499ms);
  EXPECT_FALSE((*next)->result) << "the turn is not over";
  EXPECT_FALSE(IsLocked("a"));
  clock->Advance(1ms);
  clock->RunPending();
  ASSERT_TRUE((*next)->granted());
  held = std::move((*next++)->result->grant);
  EXPECT_TRUE(hand_over(900ms)) << "time begins anew";
  EXPECT_FALSE(hand_over(100ms));
}

/// Turns come after a second, and last for half a second.
class TurnsTest : public HandOverLimitTest {
 protected:
  TurnsTest() {
    store = std::make_shared<TurnsStore>(OpenMemoryStore({.clock = clock}));
    manager.emplace(store, ManagerOptions{.runtime = clock->runtime()});
    opened_ = store->Open("orders", {}, 30s);
    collection = opened_.get();
  }
  void Release(Grant& held) {
    EXPECT_FALSE(Write(held.lease, WriteKind::kRelease, Body()));
    clock->RunPending();
  }
  void Pass(std::chrono::milliseconds time) {
    clock->Advance(time);
    clock->RunPending();
  }
  /// Takes the lock, which is to be had at once, and releases it after this time.
  void HoldAlone(std::chrono::milliseconds time) {
    const auto alone = LockLater("a", {.wait = kForever});
    ASSERT_TRUE(alone->granted());
    Pass(time);
    Release(alone->result->grant);
  }
  /// It is the others' turn from now on, for the whole of its length.
  void ExpectATurn() {
    const auto next = LockLater("a", {.wait = kForever});
    Pass(499ms);
    EXPECT_FALSE(next->result);
    Pass(1ms);
    EXPECT_TRUE(next->granted());
  }
  /// A waiter, whose turn the others' comes before.
  std::shared_ptr<Waiting> BeginTurn(LockOptions options = {.wait = kForever}) {
    Grant held = Lock("a");
    auto waiting = LockLater("a", options);
    Pass(1s);
    Release(held);
    return waiting;
  }

  std::shared_ptr<Collection> opened_;
};

TEST_F(TurnsTest, ACallerThatOnlyTriesDoesNotEndIt) {
  const auto waiting = BeginTurn();
  Pass(200ms);
  Grant tried = Lock("a");
  Pass(100ms);
  Release(tried);
  Pass(299ms);
  EXPECT_FALSE(waiting->result) << "300 ms of the turn were left";
  Pass(1ms);
  EXPECT_TRUE(waiting->granted());
}

TEST_F(TurnsTest, OneThatHoldsItPastTheEndOfTheTurnOwesTheRest) {
  const auto waiting = BeginTurn();
  Pass(200ms);
  Grant tried = Lock("a");
  Pass(600ms);
  Release(tried);
  EXPECT_FALSE(waiting->result);
  Pass(299ms);
  EXPECT_FALSE(waiting->result);
  Pass(1ms);
  EXPECT_TRUE(waiting->granted());
}

TEST_F(TurnsTest, WhatOthersHoldDoesNotCount) {
  LockManager other{store, {.runtime = clock->runtime()}};
  Grant held = Lock("a");
  const auto second = LockLater("a", {.wait = kForever, .min_hold = 1ms});  // is not handed it
  const auto third = LockLater("a", {.wait = kForever});
  Pass(600ms);
  EXPECT_FALSE(Write(held.lease, WriteKind::kRelease, Body()));
  const Grant theirs = LockBy(other, "a");
  Pass(5s);
  EXPECT_FALSE(Write(theirs.lease, WriteKind::kRelease, Body()));
  Pass(200ms);
  ASSERT_TRUE(second->granted()) << "it asks from time to time";
  Release(second->result->grant);
  EXPECT_TRUE(third->granted());
}

TEST_F(TurnsTest, TheTimeBetweenHoldsCounts) {
  for (int i = 0; i <= 10; ++i) {
    ASSERT_NO_FATAL_FAILURE(HoldAlone(90ms)) << i;
    if (i < 10) Pass(10ms);
  }
  ExpectATurn();
}

TEST_F(TurnsTest, ALongHoldAfterAShortPauseCountsWithTheOneBefore) {
  for (int i = 0; i < 2; ++i) {
    if (i > 0) Pass(100ms);
    ASSERT_NO_FATAL_FAILURE(HoldAlone(950ms)) << i;
  }
  ExpectATurn();
}

TEST_F(TurnsTest, ALockThatIsMostlyFreeNeedsNone) {
  for (int i = 0; i <= 50; ++i) {
    ASSERT_NO_FATAL_FAILURE(HoldAlone(10ms)) << i;
    Pass(90ms);
  }
}

TEST_F(TurnsTest, TheTimeOfWritesCounts) {
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind == OpKind::kWrite) clock->Advance(400ms);
  });
  Grant held = Lock("a");
  std::vector<std::shared_ptr<Waiting>> queue;
  for (int i = 0; i < 4; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
  for (int i = 0; i < 3; ++i) {
    Release(held);
    ASSERT_TRUE(queue.at(i)->granted()) << i;
    held = std::move(queue.at(i)->result->grant);
  }
  Release(held);  // after 1.2 s
  EXPECT_FALSE(queue.at(3)->result);
  store->OnExecute({});
}

TEST_F(TurnsTest, AfterAPauseOfThisLengthTimeBeginsAnew) {
  Grant held = Lock("a");
  Pass(900ms);
  Release(held);
  Pass(500ms);
  held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  Pass(900ms);
  Release(held);
  EXPECT_TRUE(waiting->granted());
}

TEST_F(TurnsTest, GoesOnThoughTheQueueIsEmpty) {
  {
    const auto waiting = BeginTurn();
    CancelAcquire(waiting->handle);
    clock->RunPending();
    ASSERT_EQ(waiting->code(), Errc::kCancelled);
  }
  Pass(100ms);
  const auto next = LockLater("a", {.wait = kForever});
  Pass(399ms);
  EXPECT_FALSE(next->result);
  Pass(1ms);
  EXPECT_TRUE(next->granted());
}

TEST_F(TurnsTest, AShorterWaitAsksOnceBeforeItsEnd) {
  const auto waiting = BeginTurn({.wait = 1300ms});  // of which one second is over
  Pass(199ms);
  EXPECT_FALSE(waiting->result);
  Pass(1ms);
  EXPECT_TRUE(waiting->granted()) << "the lock was free";
}

TEST_F(TurnsTest, ALongerWaitIsNotKeptByAShorterOne) {
  Grant held = Lock("a");
  const auto patient = LockLater("a", {.wait = kForever});
  const auto hasty = LockLater("a", {.wait = 1300ms});
  Pass(1s);
  Release(held);
  Pass(200ms);
  EXPECT_FALSE(patient->result);
  ASSERT_TRUE(hasty->granted());
  Release(hasty->result->grant);
  Pass(299ms);
  EXPECT_FALSE(patient->result) << "the rest of the turn";
  Pass(1ms);
  EXPECT_TRUE(patient->granted());
}

TEST_F(HandOverLimitTest, AnotherProcessGetsItsTurnThen) {
  BeContended();
  LockManager other{store, {.runtime = clock->runtime()}};
  Grant held = Lock("a");
  const auto theirs = LockLaterBy(other, "a", {.wait = kForever});
  std::vector<std::shared_ptr<Waiting>> queue;
  for (int i = 0; i <= kLimit; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
  ASSERT_FALSE(ReleaseWith(held, {{"n", 0}}));
  for (int i = 0; i < kLimit; ++i) {
    ASSERT_TRUE(queue[static_cast<std::size_t>(i)]->granted());
    EXPECT_FALSE(theirs->result);
    ASSERT_FALSE(ReleaseWith(queue[static_cast<std::size_t>(i)]->result->grant, {{"n", 0}}));
  }
  clock->RunPending();
  EXPECT_TRUE(theirs->granted());
  EXPECT_FALSE(queue.back()->result) << "the local waiter stood back";
}

}  // namespace
}  // namespace doclock::detail
