/// Locks that may have been granted and that no handle has: they are given back in the background.

#include <climits>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class BackgroundReleaseTest : public EngineTest, public ::testing::WithParamInterface<LockMode> {
 protected:
  [[nodiscard]] LockOptions Options() const {
    LockOptions options{.ttl = 30s, .mode = GetParam()};
    if (GetParam() == LockMode::kShared) options.max_holders = 5;
    return options;
  }
};

TEST_P(BackgroundReleaseTest, AGrantThatArrivesLaterIsGivenBackThen) {
  { const Grant made = Lock("a"); }
  clock->RunPending();
  Strike(Fault::Kind::kLate, OpKind::kAcquire);
  Strike(Fault::Kind::kErrorBefore, OpKind::kRenew, INT_MAX);
  EXPECT_EQ(TryLock("a", Options()), Errc::kInDoubt);
  store->Heal();
  clock->Advance(3s);
  ASSERT_EQ(store->ReleaseLate(), 1);
  EXPECT_TRUE(IsLocked("a"));
  clock->Advance(15s);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_P(BackgroundReleaseTest, AGrantAfterTheLeaseIsGivenBackAlthoughTheStoreFailsAtFirst) {
  store->OnExecute([this](std::span<StoreOp* const> ops) {
    if (ops.front()->kind == OpKind::kAcquire) clock->Jump(31s);
  });
  Strike(Fault::Kind::kErrorBefore, OpKind::kWrite);
  EXPECT_EQ(TryLock("a", Options()), Errc::kUnavailable);
  store->OnExecute({});
  EXPECT_TRUE(IsLocked("a"));
  clock->Advance(5s);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_P(BackgroundReleaseTest, AGrantThatComesAfterItsCallerHasGoneIsGivenBackOnce) {
  clock->DelayWork(1s);
  const auto asked = LockLater("a", Options());
  CancelAcquire(asked->handle);
  clock->Advance(5s);
  EXPECT_EQ(asked->code(), Errc::kCancelled);
  clock->DelayWork(Duration{});
  clock->Advance(5s);
  EXPECT_FALSE(IsLocked("a"));
  EXPECT_EQ(store->Count(OpKind::kWrite), 1);
}

TEST_P(BackgroundReleaseTest, ARefusalThatComesWhileClosingAfterItsCallerHasGoneIsDropped) {
  const Grant held = Lock("a");
  clock->DelayWork(1s);
  const auto asked = LockLater("a", Options());
  CancelAcquire(asked->handle);
  clock->RunPending();
  EXPECT_EQ(asked->code(), Errc::kCancelled);
  manager->Close();
  EXPECT_EQ(asked->code(), Errc::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Modes, BackgroundReleaseTest,
                         ::testing::Values(LockMode::kExclusive, LockMode::kShared),
                         [](const auto& each) {
                           return each.param == LockMode::kShared ? "Shared" : "Exclusive";
                         });

/// An attempt whose reply was lost.
class UnansweredTest : public EngineTest {};

TEST_F(UnansweredTest, ADocumentThatAnEarlierAttemptMadeWasCreated) {
  Strike(Fault::Kind::kLate, OpKind::kAcquire);
  int attempts = 0;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kAcquire || ++attempts != 2) return;
    EXPECT_EQ(store->ReleaseLate(), 1);
    testing::BreakLock(*store, "orders", "a");
  });
  const Grant held = Lock("a");
  store->OnExecute({});
  EXPECT_EQ(attempts, 2);
  EXPECT_TRUE(held.created);
}

TEST_F(UnansweredTest, ItsOutcomeIsToldUnknownWithinTheBudgetOfACall) {
  Strike(Fault::Kind::kLostAfter, OpKind::kAcquire);
  Strike(Fault::Kind::kErrorBefore, OpKind::kRead, INT_MAX);
  const TimePoint start = clock->Now();
  EXPECT_EQ(TryLock("a"), Errc::kInDoubt);
  EXPECT_LE(clock->Now() - start, ManagerOptions{}.call_budget.ms());
  store->Heal();
}

TEST_F(UnansweredTest, ARenewalThatWasSentTwiceProlongsTheLeaseFromTheFirstTime) {
  Grant held = Lock("a", {.ttl = 30s, .renew = false});
  clock->Advance(5s);
  const TimePoint sent = clock->Now();
  Strike(Fault::Kind::kLostBefore, OpKind::kRenew);
  HoldUp(OpKind::kRenew, 3s);
  EXPECT_FALSE(Renew(held.lease, 30s));
  EXPECT_EQ(store->Count(OpKind::kRenew), 2);
  EXPECT_LE(held.lease->deadline(), sent + 30s);
}

TEST_F(UnansweredTest, AReleaseByValueOfALockThatWasBrokenMeanwhileIsInDoubtAtOnce) {
  Grant held = Lock("a");
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
  store->OnExecute([this](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kRead) return;
    testing::BreakLock(*store, "orders", "a");
  });
  ValueRelease release;
  release.collection = collection;
  release.key = "a";
  release.lock_id = LeaseLockId(*held.lease);
  const TimePoint start = clock->Now();
  const FailurePtr failure = ReleaseByValue(engine(), std::move(release));
  store->OnExecute({});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kInDoubt);
  EXPECT_EQ(clock->Now(), start);
}

TEST_F(UnansweredTest, ADroppedHandleWhoseReleaseIsInDoubtIsReleasedAllTheSame) {
  {
    const Grant held = Lock("a", {.ttl = 1h});
    store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite, .times = 1});
    store->Inject({.kind = Fault::Kind::kErrorBefore, .times = INT_MAX});
  }
  clock->Advance(12s);
  store->Heal();
  clock->Advance(1min);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(UnansweredTest, ALostLockThatARenewalInDoubtMayHaveProlongedIsReleased) {
  const Grant held = Lock("a", {.ttl = 30s});
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kRenew, .skip = 1, .times = 1});
  clock->Advance(15s);
  EXPECT_TRUE(LeaseHeld(*held.lease)) << "it was renewed once";
  clock->Advance(6s);  // and again, in doubt
  store->Inject({.kind = Fault::Kind::kErrorBefore, .times = INT_MAX});
  const TimePoint end = clock->Now() + 1min;
  while (LeaseHeld(*held.lease) && clock->Now() < end) clock->Advance(100ms);
  store->Heal();
  clock->Advance(5s);
  EXPECT_FALSE(IsLocked("a"));
}

}  // namespace
}  // namespace doclock::detail
