#include "rules/tidying.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

TEST(TidyingRules, APurgeClearsWhatIsOverAndNothingElse) {
  ForEachState([](const LockState& before) {
    ASSERT_EQ(IsPurgeable(before, kNow), before.HasLockId() && !before.IsLive(kNow));
    if (!IsPurgeable(before, kNow)) return;
    LockState state = before;
    Purge(state);
    EXPECT_FALSE(state.HasLockId());
    EXPECT_EQ(state.owner, nullptr);
    EXPECT_EQ(state.version, kVersion);
    EXPECT_EQ(state.released, kMark);
    EXPECT_EQ(state.intent.id, before.intent.id);
    EXPECT_EQ(state.closed_until, before.closed_until);
    EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
  });
}

TEST(TidyingRules, AnInterventionNeedsALockUnlessItTakesOne) {
  for (const auto what : {Intervention::kExpire, Intervention::kBreak, Intervention::kSteal}) {
    ForEachState([what](const LockState& before) {
      LockState state = before;
      const bool acts = Intervene(state, what, kFresh, kNow);
      ASSERT_EQ(acts, before.HasLockId() || what == Intervention::kSteal) << TextOf(before);
      if (!acts) {
        EXPECT_TRUE(Same(before, state)) << TextOf(before);
      }
      EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
    });
  }
}

TEST(TidyingRules, ExpireEndsAllLeasesAndRaisesNothing) {
  ForEachState([](const LockState& before) {
    LockState state = before;
    if (!Intervene(state, Intervention::kExpire, kFresh, kNow)) return;
    EXPECT_FALSE(state.IsLive(kNow)) << TextOf(before);
    EXPECT_EQ(state.lock_id, before.lock_id);
    EXPECT_EQ(state.version, kVersion);
    EXPECT_EQ(state.lease.End(), std::min(before.lease.End(), kNow));
    for (const Share& share : state.shares) EXPECT_FALSE(share.lease.IsLive(kNow));
  });
}

TEST(TidyingRules, ABreakClearsTheLockUnderAMarkOfItsOwn) {
  ForEachState([](const LockState& before) {
    LockState state = before;
    if (!Intervene(state, Intervention::kBreak, kFresh, kNow)) return;
    EXPECT_FALSE(state.HasLockId());
    EXPECT_EQ(state.version, kVersion + 1);
    EXPECT_EQ(state.released, kFresh);
    EXPECT_EQ(state.intent.id, before.intent.id);
  });
}

TEST(TidyingRules, AStrangerTakesTheLockWhateverHoldsIt) {
  ForEachState([](const LockState& before) {
    LockState state = before;
    ASSERT_TRUE(Intervene(state, Intervention::kSteal, kFresh, kNow));
    EXPECT_TRUE(state.IsHeldBy(kFresh));
    EXPECT_EQ(state.lease.End(), kNow + std::chrono::seconds(30));
    EXPECT_EQ(state.version, kVersion + 1);
    EXPECT_EQ(state.Holder().name, "stranger");
    EXPECT_TRUE(state.intent.id.is_nil());
  });
}

}  // namespace
}  // namespace doclock::rules::testing
