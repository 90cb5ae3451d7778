#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class WaitingTest : public EngineTest {};

TEST_F(WaitingTest, AStopRequestDuringAnAttemptLeavesNoLockBehind) {
  Grant held = Lock("a", {.ttl = 1h});
  clock->DelayWork(2s);
  const TimePoint start = clock->Now();
  std::stop_source stop;
  runtime->Schedule(start + 500ms, [&] { testing::ExpireLock(*store, "orders", "a"); });
  runtime->Schedule(start + 1s, [&] { stop.request_stop(); });
  store->Reset();
  AcquireResult result = Acquire(engine(), Spec("a", {.wait = kForever}), stop.get_token());
  EXPECT_EQ(CodeOf(result), Errc::kCancelled);
  EXPECT_EQ(clock->Now() - start, 1s) << "told before the attempt came back";
  EXPECT_EQ(store->Count(OpKind::kAcquire), 1);
  clock->Advance(1min);
  clock->DelayWork(Duration{});
  EXPECT_EQ(store->Count(OpKind::kAcquire), 2);
  EXPECT_EQ(Stored("a").version, 4) << "granted, and given back";
  EXPECT_FALSE(Stored("a").locked);
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

TEST_F(WaitingTest, ALockThatIsClosedForEverIsPolledAsAnyOther) {
  const Grant held = Lock("a", {.ttl = 1h});
  store->DropHints(true);
  store->before_reply = [](std::span<StoreOp* const> ops) {
    if (ops.front()->status != OpStatus::kBusy) return;
    ops.front()->detail->remaining = std::chrono::hours(24) * 365 * 8'000;  // until the year 9999
  };
  store->Reset();
  EXPECT_EQ(TryLock("a", {.wait = 10s}), Errc::kTimedOut);
  EXPECT_LE(store->Count(OpKind::kAcquire), 202) << "every 50 ms";
}

TEST_F(WaitingTest, AWaitThatNothingCanEndLeavesNoWaiterBehind) {
  Grant held = Lock("a");
  engine()->runtime().Stop({});  // no timer, no task comes any more
  EXPECT_THROW((void)TryLock("a", {.wait = kForever}), std::logic_error);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
  EXPECT_FALSE(IsLocked("a")) << "it is handed to no waiter";
}

}  // namespace
}  // namespace doclock::detail
