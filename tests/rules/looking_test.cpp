#include "rules/looking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

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
    EXPECT_EQ(op.result.locked, state.IsLive(kNow));
    EXPECT_EQ(op.result.lock_id, state.lock_id) << "that of a lease that is over is still shown";
    const TimePoint end = op.result.locked ? state.lease.End() : kNow;
    EXPECT_EQ(op.result.remaining, end - kNow) << TextOf(state);
    EXPECT_EQ(op.result.holder.name, state.HasLockId() ? state.Holder().name : "");
    EXPECT_EQ(op.result.version, kVersion);
    EXPECT_EQ(op.result.born, kBorn);
    EXPECT_EQ(op.result.released, kMark);
  });
}

/// Of one share, or of an exclusive lock.
void ExpectRow(const LockRow& row, const Uuid& id, const Share& holder) {
  EXPECT_EQ(row.lock_id, id);
  EXPECT_EQ(row.fence, holder.fence);
  EXPECT_EQ(row.ttl, kTtl);
  EXPECT_EQ(row.live, holder.lease.IsLive(kNow));
  EXPECT_EQ(row.left, std::max(holder.lease.End(), kNow) - kNow);
  EXPECT_EQ(row.age, kNow - holder.granted);
  EXPECT_EQ(row.holder.name, holder.owner ? holder.owner->name : "");
  EXPECT_EQ(row.group, holder.group);
}

TEST(LookingRules, ARowTellsOfItsHolderAndAnUnheldOneHowLongItIsFree) {
  ForEachState([](const LockState& state) {
    LockQuery query;
    query.unheld = true;
    std::vector<LockRow> rows;
    AddRows(rows, LockRow{}, state, query, kNow);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].version, kVersion);
      EXPECT_EQ(rows[i].born, kBorn);
      EXPECT_EQ(rows[i].mode, state.IsShared() ? LockMode::kShared : LockMode::kExclusive);
      if (state.IsShared()) {
        ExpectRow(rows[i], kShares[i], state.shares[i]);
      } else if (state.HasLockId()) {
        ExpectRow(rows[i], kHolder,
                  {kHolder, state.granted, state.lease, state.owner, state.group, state.fence});
      } else {
        EXPECT_EQ(rows[i].ttl, state.lease.ttl);
        const bool known = state.granted != TimePoint{} && state.lease.End() < kNow;
        EXPECT_EQ(rows[i].age, known ? kNow - state.lease.End() : std::chrono::milliseconds{});
        EXPECT_EQ(rows[i].fence, std::nullopt);
      }
    }
  });
}

TEST(LookingRules, AQueryOfAGroupSeesItsHoldersOnly) {
  ForEachState([](const LockState& state) {
    LockQuery query;
    query.group = "red";
    query.unheld = true;
    std::vector<LockRow> rows;
    AddRows(rows, LockRow{}, state, query, kNow);
    ASSERT_EQ(rows.size(), state.HasLockId() ? 1 : 0) << TextOf(state);
    if (!rows.empty()) {
      EXPECT_EQ(rows.front().group, "red");
    }
  });
}

TEST(LookingRules, AFenceThatIsNotKnownIsNotTold) {
  LockState state;
  state.lock_id = kHolder;
  for (const std::int64_t fence : {0, 1}) {
    state.fence = fence;
    std::vector<LockRow> rows;
    AddRows(rows, LockRow{}, state, LockQuery{}, kNow);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows.front().fence.has_value(), fence == 1);
  }
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
