#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class WaitingTest : public EngineTest {};

TEST_F(WaitingTest, BusyFailsAtOnceWithTheHolderAndWhatIsLeft) {
  Grant held = Lock("a", {.ttl = 10s, .owner = "first"});
  clock->Advance(1s);
  AcquireResult refused = Acquire(engine(), Spec("a"), {});
  ASSERT_TRUE(refused.failure);
  EXPECT_EQ(refused.failure->code, Errc::kBusy);
  EXPECT_EQ(refused.failure->holder.name, "first");
  ASSERT_TRUE(refused.failure->remaining);
  EXPECT_EQ(*refused.failure->remaining, 9s);
}

TEST_F(WaitingTest, WaitIsKeptToTheTimeGiven) {
  Grant held = Lock("a");
  const TimePoint start = clock->Now();
  EXPECT_EQ(TryLock("a", {.wait = 5s}), Errc::kTimedOut);
  EXPECT_EQ(clock->Now() - start, 5s);
}

TEST_F(WaitingTest, AnExpiredHolderIsSucceededWhenItsLeaseEnds) {
  Grant held = Lock("a", {.ttl = 10s, .renew = false});
  const TimePoint start = clock->Now();
  Grant next = Lock("a", {.wait = 1min});
  EXPECT_TRUE(next.lease);
  EXPECT_LE(clock->Now() - start, 10s + 10ms);
  EXPECT_TRUE(LeaseLost(held.lease).stop_requested());
}

TEST_F(WaitingTest, IsFirstInFirstOut) {
  Grant held = Lock("a");
  std::vector<std::shared_ptr<Waiting>> queue;
  for (int i = 0; i < 20; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
  ASSERT_FALSE(ReleaseWith(held, {{"n", 0}}));
  for (std::size_t i = 0; i < queue.size(); ++i) {
    clock->RunPending();
    ASSERT_TRUE(queue[i]->granted()) << i;
    if (i + 1 < queue.size()) {
      EXPECT_FALSE(queue[i + 1]->result) << i;
    }
    ASSERT_FALSE(ReleaseWith(queue[i]->result->grant, {{"n", i + 1}}));
  }
  EXPECT_EQ(Stored("a").body.json()["n"], 20);
}

TEST_F(WaitingTest, AHandOverIsOneWriteWithStateAndNextLockTogether) {
  Grant held = Lock("a");
  std::vector<std::shared_ptr<Waiting>> queue;
  for (int i = 0; i < 6; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
  store->Reset();
  ASSERT_FALSE(ReleaseWith(held, {{"n", 0}}));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(queue[static_cast<std::size_t>(i)]->granted());
    Grant& grant = queue[static_cast<std::size_t>(i)]->result->grant;
    EXPECT_EQ(grant.body.json()["n"], i);
    ASSERT_FALSE(ReleaseWith(grant, {{"n", i + 1}}));
  }
  EXPECT_EQ(store->Calls(), 6) << "one release and five hand-overs";
}

TEST_F(WaitingTest, TheNextHolderHasItsOwnIdAndAHigherFence) {
  Grant held = Lock("a");
  auto next = LockLater("a", {.ttl = 20s, .wait = kForever});
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  ASSERT_TRUE(next->granted());
  EXPECT_NE(LeaseLockId(*next->result->grant.lease), LeaseLockId(*held.lease));
  EXPECT_GT(LeaseFence(*next->result->grant.lease), LeaseFence(*held.lease));
  clock->Advance(1h);
  EXPECT_TRUE(LeaseHeld(*next->result->grant.lease));
}

TEST_F(WaitingTest, AStopRequestEndsABlockingWaitAndLeavesNoLockBehind) {
  Grant held = Lock("a");
  std::stop_source stop;
  runtime->Schedule(clock->Now() + 3s, [&] { stop.request_stop(); });
  AcquireResult result = Acquire(engine(), Spec("a", {.wait = kForever}), stop.get_token());
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code, Errc::kCancelled);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->Advance(1min);
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(WaitingTest, AStopRequestedBeforeIsRefusedWithoutACall) {
  std::stop_source stop;
  stop.request_stop();
  store->Reset();
  AcquireResult result = Acquire(engine(), Spec("a"), stop.get_token());
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code, Errc::kCancelled);
  EXPECT_EQ(store->Calls(), 0);
}

TEST_F(WaitingTest, AStopRequestDuringAnAttemptLeavesNoLockBehind) {
  Grant held = Lock("a", {.ttl = 1h});
  clock->DelayWork(2s);
  const TimePoint start = clock->Now();
  std::stop_source stop;
  runtime->Schedule(start + 500ms, [&] { testing::ExpireLock(*store, "orders", "a"); });
  runtime->Schedule(start + 1s, [&] { stop.request_stop(); });
  store->Reset();
  AcquireResult result = Acquire(engine(), Spec("a", {.wait = kForever}), stop.get_token());
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code, Errc::kCancelled);
  EXPECT_EQ(clock->Now() - start, 1s) << "told before the attempt came back";
  EXPECT_EQ(store->Count(OpKind::kAcquire), 1);
  clock->Advance(1min);
  clock->DelayWork(Duration{});
  EXPECT_EQ(store->Count(OpKind::kAcquire), 2);
  EXPECT_EQ(Stored("a").version, 4) << "granted, and given back";
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(WaitingTest, CancellingAnAttemptUnderWayLeavesNoLockBehind) {
  clock->DelayWork(2s);
  auto waiting = LockLater("a", {.wait = kForever});
  EXPECT_FALSE(waiting->result);
  CancelAcquire(waiting->handle);
  clock->RunPending();
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0);
  clock->Advance(1min);
  clock->DelayWork(Duration{});
  EXPECT_EQ(store->Count(OpKind::kAcquire), 1);
  EXPECT_EQ(Stored("a").version, 2) << "granted, and given back";
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(WaitingTest, CancellingAQueuedWaiterLetsTheNextOnePass) {
  Grant held = Lock("a");
  auto first = LockLater("a", {.wait = kForever});
  auto second = LockLater("a", {.wait = kForever});
  CancelAcquire(first->handle);
  clock->RunPending();
  EXPECT_EQ(first->code(), Errc::kCancelled);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_TRUE(second->granted());
}

TEST_F(WaitingTest, ATimedOutWaiterWhoseAttemptIsUnderWayLeavesNoLockBehind) {
  Grant held = Lock("a");
  auto waiting = LockLater("a", {.wait = 5s});
  clock->Advance(4s);
  clock->DelayWork(10s);
  store->Reset();
  testing::ExpireLock(*store, "orders", "a");
  clock->Advance(2s);
  EXPECT_EQ(waiting->code(), Errc::kTimedOut);
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0);
  clock->Advance(1min);
  clock->DelayWork(Duration{});
  clock->Advance(1min);
  EXPECT_GE(store->Count(OpKind::kAcquire), 1);
  EXPECT_EQ(Stored("a").version, 4) << "granted, and given back";
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(WaitingTest, CallersStandBehindADiscardUnderWay) {
  for (int i = 0; i < 50; ++i) {
    {
      Grant dropped = Lock("a");
    }  // queued, not yet done
    EXPECT_EQ(TryLock("a"), std::nullopt) << "a fail-fast caller must not be told busy";
  }
}

TEST_F(WaitingTest, OnlyOneOfThoseBehindADiscardGetsIt) {
  Grant held = Lock("a");
  held.lease.reset();
  { Grant again; }
  testing::ExpireLock(*store, "orders", "a");
  Grant second = Lock("a");
  { Grant dropped = std::move(second); }
  auto one = std::make_shared<Waiting>();
  auto two = std::make_shared<Waiting>();
  one->handle =
      AcquireAsync(engine(), Spec("a"), [one](AcquireResult r) { one->result = std::move(r); });
  two->handle =
      AcquireAsync(engine(), Spec("a"), [two](AcquireResult r) { two->result = std::move(r); });
  clock->RunPending();
  EXPECT_TRUE(one->granted());
  EXPECT_EQ(two->code(), Errc::kBusy);
}

TEST_F(WaitingTest, MinHoldKeepsTheLockClosedAfterRelease) {
  Grant held = Lock("a", {.min_hold = 60s});
  auto waiting = LockLater("a", {.wait = kForever});
  clock->Advance(1s);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_FALSE(waiting->result) << "not handed over before its time";
  EXPECT_EQ(TryLock("a"), Errc::kBusy);
  clock->Advance(58s);
  EXPECT_FALSE(waiting->result);
  clock->Advance(2s);
  EXPECT_TRUE(waiting->granted());
}

TEST_F(WaitingTest, AWaiterPollsWhenHintsAreMissing) {
  store->DropHints(true);
  Grant held = Lock("a");
  auto waiting = LockLater("a", {.wait = kForever});
  // Released by a client that this engine does not know.
  LockManager other{store, {.runtime = clock->runtime()}};
  testing::BreakLock(*store, "orders", "a");
  clock->Advance(1100ms);
  EXPECT_TRUE(waiting->granted());
}

TEST_F(WaitingTest, AHintWakesTheWaiterOfAnotherManager) {
  LockManager other{store, {.runtime = clock->runtime()}};
  AcquireSpec spec = MakeSpec(other.engine(), *collection, {}, 30s);
  spec.key = "a";
  spec.insert = Body::FromJson({{"n", 0}});
  AcquireResult held = Acquire(other.engine(), std::move(spec), {});
  auto waiting = LockLater("a", {.wait = kForever});
  const TimePoint released = clock->Now();
  ASSERT_FALSE(Write(held.grant.lease, WriteKind::kRelease, Body()));
  clock->RunPending();
  EXPECT_TRUE(waiting->granted());
  EXPECT_EQ(clock->Now(), released);
}

TEST_F(WaitingTest, OnlyOneWaiterOfAKeyAsksTheStore) {
  Grant held = Lock("a", {.ttl = 1h});
  std::vector<std::shared_ptr<Waiting>> queue;
  for (int i = 0; i < 100; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
  store->Reset();
  clock->Advance(1min);
  EXPECT_LE(store->Count(OpKind::kAcquire), 60'000 / 50 + 1) << "as many polls as one waiter makes";
}

TEST_F(WaitingTest, ACallerThatJoinsAQueueDoesNotAsk) {
  Grant held = Lock("a");
  auto first = LockLater("a", {.wait = kForever});
  clock->RunPending();
  store->Reset();
  std::vector<std::shared_ptr<Waiting>> queue;
  for (int i = 0; i < 5; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
  clock->RunPending();
  EXPECT_EQ(store->Calls(), 0);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 0}}));
  EXPECT_TRUE(first->granted());
}

TEST_F(WaitingTest, AMissingDocumentIsNotWaitedFor) {
  AcquireResult result = Acquire(engine(), Spec("none", {.wait = kForever}, false), {});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code, Errc::kNotFound);
}

TEST_F(WaitingTest, AStoreThatIsAwayIsWaitedForWhileThereIsTime) {
  store->Inject({.kind = Fault::Kind::kErrorBefore,
                 .op = OpKind::kAcquire,
                 .key = {},
                 .skip = 0,
                 .times = 3});
  EXPECT_EQ(TryLock("a", {.wait = 1min}), std::nullopt);
}

}  // namespace
}  // namespace doclock::detail
