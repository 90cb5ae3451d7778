#include "rules/rules.h"

#include <gtest/gtest.h>

#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

class SaveRules : public ::testing::Test {
 protected:
  SaveOp Make(SaveKind kind, std::int64_t expected = kVersion, const Uuid& born = kBorn) {
    SaveOp op(collection_, key_);
    op.request.save = kind;
    op.request.expected = expected;
    op.request.born = born;
    op.request.write_id = kFresh;
    op.request.body = Body::FromJson({{"a", 1}});
    return op;
  }
  Collection collection_{"orders", {}, kTtl};
  Key key_{"1"};
};

TEST_F(SaveRules, ALiveLockStandsInTheWayAndMinHoldDoesNot) {
  for (const SaveKind kind : {SaveKind::kReplace, SaveKind::kErase}) {
    ForEachState([&](const LockState& before) {
      SaveOp op = Make(kind);
      const bool live = before.IsLive(kNow);
      ASSERT_EQ(Allows(op, WhyNotSave(op, &before, kNow)), !live) << TextOf(before);
      if (!live) return;
      EXPECT_EQ(op.status, OpStatus::kBusy);
      EXPECT_EQ(op.detail->remaining, RoundUp(before.lease.End() - kNow)) << TextOf(before);
      EXPECT_EQ(op.detail->holder.name, before.Holder().name);
    });
  }
}

TEST_F(SaveRules, VersionAndIncarnationMustBeTheExpectedOnes) {
  LockState state;
  state.version = kVersion;
  state.born = kBorn;
  for (const std::int64_t expected : {kVersion - 1, kVersion, kVersion + 1}) {
    for (const Uuid& born : {kBorn, kOther}) {
      SaveOp op = Make(SaveKind::kReplace, expected, born);
      const bool same = expected == kVersion && born == kBorn;
      EXPECT_EQ(Allows(op, WhyNotSave(op, &state, kNow)), same);
      if (same) continue;
      EXPECT_EQ(op.status, OpStatus::kConflict);
      EXPECT_EQ(op.detail->found_version, kVersion);
    }
  }
  SaveOp any = Make(SaveKind::kErase, kAnyVersion, Uuid{});
  EXPECT_TRUE(Allows(any, WhyNotSave(any, &state, kNow))) << "an erasure may ask for no version";
}

TEST_F(SaveRules, AnInsertMeetsNoDocumentAndTheOthersOne) {
  const LockState state;
  SaveOp insert = Make(SaveKind::kInsert);
  EXPECT_TRUE(Allows(insert, WhyNotSave(insert, nullptr, kNow)));
  EXPECT_FALSE(Allows(insert, WhyNotSave(insert, &state, kNow)));
  EXPECT_EQ(insert.status, OpStatus::kConflict);
  SaveOp replace = Make(SaveKind::kReplace);
  EXPECT_FALSE(Allows(replace, WhyNotSave(replace, nullptr, kNow)));
  EXPECT_EQ(replace.status, OpStatus::kMissing);
}

TEST_F(SaveRules, ASaveClearsALockThatIsOver) {
  ForEachState([&](const LockState& before) {
    SaveOp op = Make(SaveKind::kReplace);
    if (!Allows(op, WhyNotSave(op, &before, kNow))) return;
    LockState state = before;
    Save(op, state, kNow);
    EXPECT_EQ(op.status, OpStatus::kDone);
    EXPECT_EQ(op.result.version, kVersion + 1);
    EXPECT_EQ(state.version, kVersion + 1);
    EXPECT_FALSE(state.HasLockId());
    EXPECT_EQ(state.released, kFresh);
    EXPECT_EQ(state.closed_until, before.closed_until);
    EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
  });
}

TEST_F(SaveRules, AnExpectationAsksForVersionAndIncarnationWhateverTheLock) {
  ForEachState([&](const LockState& before) {
    SaveOp same = Make(SaveKind::kExpect, before.version, before.born);
    EXPECT_TRUE(Allows(same, WhyNotSave(same, &before, kNow))) << TextOf(before);
    SaveOp older = Make(SaveKind::kExpect, before.version - 1, before.born);
    EXPECT_FALSE(Allows(older, WhyNotSave(older, &before, kNow)));
    EXPECT_EQ(older.status, OpStatus::kConflict);
    EXPECT_EQ(older.detail->found_version, before.version);
    SaveOp other_life = Make(SaveKind::kExpect, before.version, kFresh);
    EXPECT_FALSE(Allows(other_life, WhyNotSave(other_life, &before, kNow)));
    EXPECT_EQ(other_life.status, OpStatus::kConflict);
  });
  SaveOp missing = Make(SaveKind::kExpect);
  EXPECT_FALSE(Allows(missing, WhyNotSave(missing, nullptr, kNow)));
  EXPECT_EQ(missing.status, OpStatus::kMissing);
}

TEST_F(SaveRules, AnInsertBeginsAtVersionOne) {
  SaveOp op = Make(SaveKind::kInsert);
  LockState state;
  state.born = kOther;
  Save(op, state, kNow);
  EXPECT_EQ(op.result.version, 1);
  EXPECT_EQ(op.result.born, kOther);
}

TEST_F(SaveRules, VersionsRiseToTheFloor) {
  LockState state;
  state.floor = 1000;
  SaveOp insert = Make(SaveKind::kInsert);
  Save(insert, state, kNow);
  EXPECT_EQ(insert.result.version, 1000);
  SaveOp replace = Make(SaveKind::kReplace, insert.result.version, insert.result.born);
  Save(replace, state, kNow);
  EXPECT_EQ(replace.result.version, 1001);
}

TEST_F(SaveRules, OnlyAnInsertTellsTheIncarnation) {
  SaveOp op = Make(SaveKind::kErase, kAnyVersion, Uuid{});
  LockState state;
  state.born = kOther;
  Save(op, state, kNow);
  EXPECT_TRUE(op.result.born.is_nil());
}

}  // namespace
}  // namespace doclock::rules::testing
