/// The queue of a key: who is asked for, who is answered, and when. No poll and no hint of the
/// store comes to help.

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class QuietQueueTest : public EngineTest {
 protected:
  QuietQueueTest() : EngineTest({.poll_min = 1h, .poll_max = 1h}) { store->DropHints(true); }

  /// The next replies to writes, after those to `skip`, are lost, and so are the requests.
  void LoseWrites(int times, int skip = 0) {
    store->Inject(
        {.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite, .skip = skip, .times = times});
  }
  /// No attempt reaches the store any more.
  void BeAway() { Strike(Fault::Kind::kErrorBefore, OpKind::kAcquire, INT_MAX); }

  const LockOptions share{.mode = LockMode::kShared, .max_holders = 2};
};

/// The reply of the attempt that made the document was lost, and its lock too.
TEST_F(QuietQueueTest, AHandOverTellsWhoMadeTheDocument) {
  std::optional<Grant> held;
  store->before_reply = [&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kAcquire || held) return;
    held.emplace();
    testing::BreakLock(*store, "orders", "new");
    held = Lock("new");
  };
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kAcquire});
  const auto maker = LockLater("new", {.wait = kForever});
  const auto other = LockLater("new", {.wait = kForever});
  ASSERT_FALSE(maker->result);
  store->Reset();
  ASSERT_FALSE(ReleaseWith(*held, {{"n", 1}}));
  ASSERT_TRUE(maker->granted());
  EXPECT_TRUE(maker->result->grant.created);
  ASSERT_FALSE(ReleaseWith(maker->result->grant, {{"n", 2}}));
  ASSERT_TRUE(other->granted());
  EXPECT_FALSE(other->result->grant.created);
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0) << "both were handed over";
}

/// Its attempt would be a second grant for the same caller.
TEST_F(QuietQueueTest, AWakingDuringAHandOverLetsTheNextHolderNotAsk) {
  Grant held = Lock("a");
  const auto next = LockLater("a", {.wait = kForever});
  store->Reset();
  BeforeReply(OpKind::kWrite, [this] { engine()->waits().Freed(*collection, Key("a").Hash()); });
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_TRUE(next->granted());
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0);
}

/// Keys share the parts of the table.
TEST_F(QuietQueueTest, AReleaseWithoutWaitersLeavesThoseOfOtherKeysAlone) {
  Grant held = Lock("a");
  std::vector<Grant> others;
  std::vector<std::shared_ptr<Waiting>> waiters;
  for (int i = 0; i < 400; ++i) {
    const Key key(std::to_string(i));
    others.push_back(Lock(key));
    waiters.push_back(LockLater(key, {.wait = kForever}));
  }
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  for (const auto& waiter : waiters) EXPECT_FALSE(waiter->result);
  EXPECT_EQ(TryLock("a"), std::nullopt);
}

/// The holder that the first attempt found has released meanwhile.
TEST_F(QuietQueueTest, AWaiterIsNotToldOfAHolderFromBeforeAHandOver) {
  Grant held = Lock("a", {.owner = "first"});
  const auto next = LockLater("a", {.wait = kForever, .owner = "second"});
  const auto late = LockLater("a", {.wait = 1s});
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  ASSERT_TRUE(next->granted());
  clock->Advance(1s);
  ASSERT_EQ(late->code(), Errc::kTimedOut);
  EXPECT_NE(late->result->failure->holder.name, "first");
}

TEST_F(QuietQueueTest, AHandOverAnswersCallersThatDoNotWait) {
  Grant held = Lock("a");
  const auto next = LockLater("a", {.wait = kForever});
  held = {};  // its release is queued
  const auto asked = LockLater("a");
  EXPECT_TRUE(next->granted());
  EXPECT_EQ(asked->code(), Errc::kBusy);
}

TEST_F(QuietQueueTest, ACallerThatDoesNotWaitAsksOnceOneOfTheSharesIsReleased) {
  Grant one = Lock("a", share), two = Lock("a", share);
  LoseWrites(1, /*skip=*/1);
  one = {};
  two = {};
  const auto asked = LockLater("a", share);
  EXPECT_TRUE(asked->granted()) << "the other release is tried again later";
  clock->Advance(1min);
}

TEST_F(QuietQueueTest, AWriterThatDoesNotWaitStandsBehindTheReleasesOfAllShares) {
  Grant one = Lock("a", share), two = Lock("a", share);
  LoseWrites(1, /*skip=*/1);
  one = {};
  two = {};
  const auto asked = LockLater("a");
  EXPECT_FALSE(asked->result) << "one is still held in the store";
  clock->Advance(1min);
  EXPECT_TRUE(asked->granted());
}

TEST_F(QuietQueueTest, ACallerThatDoesNotWaitIsAnsweredBeforeAWriterThatHasToWait) {
  LockManager other{store, {.runtime = clock->runtime()}};
  const AcquireResult theirs = Acquire(other.engine(), Spec("a", share), {});
  Grant mine = Lock("a", share);
  const auto writer = LockLater("a", {.wait = kForever});
  mine = {};  // its release is queued
  const auto asked = LockLater("a", share);
  EXPECT_TRUE(asked->result);
  EXPECT_FALSE(writer->result) << "the other share is still held";
}

TEST_F(QuietQueueTest, ACallerThatDoesNotWaitAndAllowsMoreHoldersAsksItself) {
  const LockOptions third{.mode = LockMode::kShared, .max_holders = 3};
  LockManager other{store, {.runtime = clock->runtime()}};
  const AcquireResult one = Acquire(other.engine(), Spec("a", share), {});
  const AcquireResult two = Acquire(other.engine(), Spec("a", share), {});
  Grant mine = Lock("a", third);
  mine = {};  // its release is queued
  std::optional<AcquireResult> first;
  AcquireAsync(engine(), Spec("a", share),
               [&first](AcquireResult result) { first = std::move(result); });
  const auto asked = LockLater("a", third);
  ASSERT_TRUE(first);
  EXPECT_EQ(CodeOf(*first), Errc::kBusy) << "two hold it";
  EXPECT_TRUE(asked->granted());
}

/// As happens if what it was to stand behind ends before it has queued.
TEST_F(QuietQueueTest, ACallerThatDoesNotWaitAsksAlthoughTheFirstInTheQueueSleeps) {
  const Grant held = Lock("a");
  const auto first = LockLater("a", {.wait = kForever});
  std::optional<AcquireResult> told;
  const auto asked = std::make_shared<PendingAcquire>(
      engine()->shared_waits(), Spec("a"), PendingAcquire::Target::kDocument,
      [&told](AcquireResult result) { told = std::move(result); }, clock->Now());
  engine()->waits().Enqueue(asked, nullptr);
  clock->RunPending();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->failure->code, Errc::kBusy);
  EXPECT_FALSE(first->result);
}

TEST_F(QuietQueueTest, AWaitWhoseSecondLookHangsEndsWithTheHolderThatTheFirstOneFound) {
  const Grant held = Lock("a", {.ttl = 1h, .owner = "first"});
  BeforeReply(OpKind::kAcquire, [this] { clock->DelayWork(10s); });
  const auto waiting = LockLater("a", {.wait = 1s});
  clock->Advance(5s);
  ASSERT_EQ(waiting->code(), Errc::kTimedOut);
  EXPECT_EQ(waiting->result->failure->holder.name, "first");
  clock->DelayWork(Duration{});
  clock->Advance(1min);
}

TEST_F(QuietQueueTest, AWaiterWhoseTimeIsUpIsToldWhatIsLeftOfTheLease) {
  const Grant held = Lock("a", {.ttl = 1h});
  const auto waiting = LockLater("a", {.wait = 1s});
  clock->Advance(1s);
  ASSERT_EQ(waiting->code(), Errc::kTimedOut);
  ASSERT_TRUE(waiting->result->failure->remaining);
  EXPECT_GT(*waiting->result->failure->remaining, 59min);
}

TEST_F(QuietQueueTest, ACallerStandsBehindADroppedHandleThatWasHandedTheLock) {
  Grant held = Lock("a");
  const auto next = LockLater("a", {.wait = kForever});
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  ASSERT_TRUE(next->granted());
  next->result->grant = {};  // its release is queued
  EXPECT_EQ(TryLock("a"), std::nullopt);
}

TEST_F(QuietQueueTest, ACallerThatStoodBehindARefusedReleaseIsAnswered) {
  const Grant held = Lock("a");
  store->Inject({.kind = Fault::Kind::kRefused, .op = OpKind::kWrite});
  std::optional<Errc> refused;
  WriteAsync(held.lease, WriteKind::kRelease, Body::FromJson({{"n", 1}}),
             [&](const FailurePtr& failure) { refused = failure->code; });
  const auto asked = LockLater("a");
  EXPECT_EQ(refused, Errc::kRefused);
  EXPECT_EQ(asked->code(), Errc::kBusy);
}

TEST_F(QuietQueueTest, DocumentsOfOneKeyInTwoCollectionsHaveAQueueEach) {
  Collection* const orders = collection;
  Grant first = Lock("a");
  const auto first_waiter = LockLater("a", {.wait = kForever});
  collection = store->Open("invoices", {}, 30s).get();
  Grant second = Lock("a");
  const auto second_waiter = LockLater("a", {.wait = kForever});
  ASSERT_FALSE(ReleaseWith(second, {{"n", 1}}));
  clock->RunPending();
  ASSERT_TRUE(second_waiter->granted());
  EXPECT_EQ(second_waiter->result->grant.lease->collection, collection);
  EXPECT_FALSE(first_waiter->result);
  collection = orders;
}

TEST_F(QuietQueueTest, ACallerThatWaitsForAMomentDoesNotOvertake) {
  const Grant held = Lock("a", {.ttl = 1h});
  const auto first = LockLater("a", {.wait = kForever});
  testing::ExpireLock(*store, "orders", "a");
  EXPECT_EQ(TryLock("a", {.wait = 1ms}), Errc::kTimedOut);
}

/// Searches whose calls hang.
class HangingSearchTest : public QuietQueueTest {
 protected:
  std::shared_ptr<Waiting> SearchLater(Duration wait) {
    return NextLater(Spec({}, {.wait = wait}, false));
  }
};

/// Without the outage it would be told that nothing is free.
TEST_F(HangingSearchTest, IsToldOfTheOutageThatLastsUntilItsTimeIsUp) {
  BeAway();
  const auto search = SearchLater(1min);
  EXPECT_FALSE(search->result);
  clock->Advance(2min);
  EXPECT_EQ(search->code(), Errc::kUnavailable);
}

TEST_F(HangingSearchTest, ThatDoesNotWaitGetsTheAnswerWheneverItComes) {
  clock->DelayWork(3s);
  const auto search = SearchLater({});
  clock->Advance(2s);
  EXPECT_FALSE(search->result);
  clock->Advance(2s);
  EXPECT_EQ(search->code(), Errc::kNotFound);
}

TEST_F(QuietQueueTest, AWaiterIsToldOfItsCancellationAlthoughThereIsAnOutage) {
  BeAway();
  const auto waiting = LockLater("a", {.wait = kForever});
  EXPECT_FALSE(waiting->result);
  CancelAcquire(waiting->handle);
  clock->RunPending();
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
}

}  // namespace
}  // namespace doclock::detail
