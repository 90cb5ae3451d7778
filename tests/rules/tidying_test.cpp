#include "rules/rules.h"

#include <gtest/gtest.h>

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
    EXPECT_EQ(state.closed_until, before.closed_until);
    EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
  });
}

}  // namespace
}  // namespace doclock::rules::testing
