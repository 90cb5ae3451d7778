#include <climits>
#include <optional>
#include <utility>

#include "engine/support/harness.h"
#include "engine/verbs/attempt_together.h"

namespace doclock::detail {
namespace {

/// Several locks are attempted in one call, and one of the replies stays unknown.
class TogetherTest : public EngineTest {
 protected:
  void LeaveInDoubt(const Key& key) {
    store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kAcquire, .key = key});
    store->Inject({.kind = Fault::Kind::kLostBefore,
                   .op = OpKind::kRenew,
                   .key = key,
                   .skip = 0,
                   .times = INT_MAX});
  }
  void LockBoth(Duration wait) {
    attempt = AttemptTogether(engine(), {Spec("a", {.wait = wait}), Spec("b", {.wait = wait})},
                              false, [this](AttemptResults all) { results = std::move(all); });
    clock->RunPending();
  }

  std::optional<AttemptResults> results;
  AcquireHandle attempt;
};

TEST_F(TogetherTest, CloseGivesBackWhatWasGranted) {
  LeaveInDoubt("a");
  LockBoth(kForever);
  ASSERT_TRUE(IsLocked("b"));
  EXPECT_FALSE(results);
  manager->Close();
  ASSERT_TRUE(results);
  EXPECT_EQ(CodeOf(results->front()), Errc::kCancelled);
  EXPECT_FALSE(IsLocked("b"));
}

TEST_F(TogetherTest, AStopGivesBackWhatWasGrantedAtOnce) {
  LeaveInDoubt("a");
  LockBoth(kForever);
  ASSERT_TRUE(IsLocked("b"));
  const TimePoint stopped = clock->Now();
  CancelAcquire(attempt);
  clock->RunPending();
  EXPECT_EQ(clock->Now(), stopped);
  ASSERT_TRUE(results);
  EXPECT_EQ(CodeOf(results->front()), Errc::kCancelled);
  EXPECT_FALSE(IsLocked("b"));
}

TEST_F(TogetherTest, WhatIsGrantedAfterAStopIsGivenBack) {
  LeaveInDoubt("a");
  LockBoth(kForever);
  CancelAcquire(attempt);
  clock->RunPending();
  EXPECT_TRUE(IsLocked("a"));
  EXPECT_EQ(store->Heal(), 0);
  clock->Advance(1s);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(TogetherTest, ALockThatIsBusyIsAnAnswerInTime) {
  LockManager other(store, {.runtime = runtime});
  const Grant a = LockBy(other, "a");
  LeaveInDoubt("b");
  LockBoth(100ms);
  clock->Advance(100ms);
  ASSERT_TRUE(results);
  EXPECT_EQ(CodeOf(results->front()), Errc::kTimedOut);
}

}  // namespace
}  // namespace doclock::detail
