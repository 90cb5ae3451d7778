#include "rules/looking.h"

#include <gtest/gtest.h>

#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

TEST(LookingRules, ALookTellsOfLiveLocks) {
  Collection collection("orders", {}, kTtl);
  const Key key("1");
  ForEachState([&](const LockState& state) {
    ReadOp op(collection, key);
    Read(op, state, kNow);
    EXPECT_EQ(op.status, OpStatus::kDone);
    EXPECT_EQ(op.locked, state.IsLive(kNow));
    EXPECT_EQ(op.lock_id, state.lock_id) << "that of a lease that is over is still shown";
    EXPECT_EQ(op.remaining.count() > 0, op.locked) << TextOf(state);
    EXPECT_EQ(op.version, kVersion);
  });
}

TEST(LookingRules, EachShareHasARowAndAnUnheldDocumentOneOnRequest) {
  ForEachState([](const LockState& state) {
    for (const bool unheld : {false, true}) {
      LockQuery query;
      query.unheld = unheld;
      std::vector<LockRow> rows;
      AddRows(rows, LockRow{}, state, query, kNow);
      std::size_t expected = state.HasLockId() || unheld ? 1 : 0;
      if (state.IsShared()) expected = state.shares.size();
      ASSERT_EQ(rows.size(), expected) << TextOf(state);
      for (const LockRow& row : rows) {
        EXPECT_EQ(row.live, row.left.count() > 0);
        EXPECT_EQ(row.closed, state.IsClosed(kNow));
        EXPECT_EQ(row.lock_id.is_nil(), !state.HasLockId());
      }
      query.group = "blue";
      rows.clear();
      AddRows(rows, LockRow{}, state, query, kNow);
      EXPECT_TRUE(rows.empty()) << "none of them is of a group";
    }
  });
}

}  // namespace
}  // namespace doclock::rules::testing
