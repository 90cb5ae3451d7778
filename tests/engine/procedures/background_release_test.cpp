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

TEST_P(BackgroundReleaseTest, AGrantAfterTheLeaseIsGivenBackAlthoughTheStoreFailsAtFirst) {
  Before(OpKind::kAcquire, [this] { clock->Jump(31s); });
  Strike(Fault::Kind::kErrorBefore, OpKind::kWrite);
  EXPECT_EQ(TryLock("a", Options()), Errc::kUnavailable);
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
  Before(OpKind::kRead, [this] { testing::BreakLock(*store, "orders", "a"); });
  const TimePoint start = clock->Now();
  const FailurePtr failure = ReleaseByValue(engine(), ReleaseOf(held));
  EXPECT_EQ(CodeOf(failure), Errc::kInDoubt);
  EXPECT_EQ(clock->Now(), start);
}

}  // namespace
}  // namespace doclock::detail
