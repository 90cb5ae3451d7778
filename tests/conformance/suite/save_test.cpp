#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, AnInsertMakesAnUnlockedDocument) {
  const SaveOp insert = things_.Insert("42", {{"a", 1}});
  ASSERT_EQ(insert.status, OpStatus::kDone);
  EXPECT_EQ(insert.version, 1);
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.version, 1);
  EXPECT_EQ(read.born, insert.born);
  EXPECT_FALSE(read.born.is_nil());
  EXPECT_EQ(read.released, insert.write_id);
  EXPECT_FALSE(read.locked);
  EXPECT_TRUE(read.lock_id.is_nil());
  EXPECT_EQ(read.body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, AnInsertOfAnExistingDocumentIsAConflict) {
  things_.Insert("42", {{"a", 1}});
  const SaveOp again = things_.Insert("42", {{"a", 2}});
  ASSERT_EQ(again.status, OpStatus::kConflict);
  ASSERT_TRUE(again.detail);
  EXPECT_EQ(again.detail->found_version, 1);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, ASaveReplacesWhatItKnows) {
  const SaveOp insert = things_.Insert("42", {{"a", 1}});
  const SaveOp save = things_.Replace("42", 1, insert.born, {{"a", 2}});
  ASSERT_EQ(save.status, OpStatus::kDone);
  EXPECT_EQ(save.version, 2);
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.version, 2);
  EXPECT_EQ(read.released, save.write_id);
  EXPECT_EQ(read.body.json(), Json({{"a", 2}}));
}

TEST_P(StoreConformance, ASaveOfAnotherVersionIsAConflictWithTheFoundOne) {
  const SaveOp insert = things_.Insert("42", {{"a", 1}});
  things_.Replace("42", 1, insert.born, {{"a", 2}});
  const SaveOp late = things_.Replace("42", 1, insert.born, {{"a", 3}});
  ASSERT_EQ(late.status, OpStatus::kConflict);
  ASSERT_TRUE(late.detail);
  EXPECT_EQ(late.detail->found_version, 2);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 2}}));
}

TEST_P(StoreConformance, ASaveOfAMissingDocumentIsMissing) {
  EXPECT_EQ(things_.Replace("42", 1, FreshId(), {{"a", 1}}).status, OpStatus::kMissing);
  EXPECT_EQ(things_.Read("42").status, OpStatus::kMissing);
}

TEST_P(StoreConformance, ASaveOfAFormerLifeIsAConflictAtTheSameVersionToo) {
  const SaveOp first = things_.Insert("42", {{"life", 1}});
  things_.Erase("42");
  things_.Insert("42", {{"life", 2}});
  EXPECT_EQ(things_.Replace("42", 1, first.born, {{"life", 3}}).status, OpStatus::kConflict);
  EXPECT_EQ(things_.Erase("42", 1, first.born).status, OpStatus::kConflict);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"life", 2}}));
}

TEST_P(StoreConformance, ASaveNeverSlipsUnderALiveLock) {
  const AcquireOp grant = things_.Create("42", {{"a", 1}}, {.owner = "alice"});
  const SaveOp save = things_.Replace("42", grant.version, grant.born, {{"a", 2}});
  ASSERT_EQ(save.status, OpStatus::kBusy);
  ASSERT_TRUE(save.detail);
  EXPECT_EQ(save.detail->holder.name, "alice");
  EXPECT_TRUE(clock().IsLeft(save.detail->remaining, kTtl));
  EXPECT_EQ(things_.Erase("42").status, OpStatus::kBusy);
  EXPECT_EQ(things_.Erase("42", grant.version, grant.born).status, OpStatus::kBusy);
  EXPECT_EQ(things_.Insert("42", {{"a", 2}}).status, OpStatus::kConflict);  // it meets no lock
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, ASaveClearsAnExpiredLockAndItsHoldersWriteIsRefused) {
  const AcquireOp grant = things_.Create("42", {{"a", 1}});
  clock().Advance(kTtl);
  ASSERT_EQ(things_.Replace("42", 1, grant.born, {{"a", 2}}).status, OpStatus::kDone);
  EXPECT_TRUE(things_.Read("42").lock_id.is_nil());
  EXPECT_EQ(things_.Release("42", grant, MakeBody({{"a", 3}})).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", grant.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 2}}));
}

TEST_P(StoreConformance, AStaleSaveLeavesAnExpiredLockInPlace) {
  const AcquireOp grant = things_.Create("42", {{"a", 1}});
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Replace("42", 7, grant.born, {{"a", 2}}).status, OpStatus::kConflict);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
}

TEST_P(StoreConformance, ErasingAVersionErasesNoOther) {
  const SaveOp insert = things_.Insert("42", {});
  EXPECT_EQ(things_.Erase("42", 7, insert.born).status, OpStatus::kConflict);
  EXPECT_EQ(things_.Erase("42", 1, insert.born).status, OpStatus::kDone);
  EXPECT_EQ(things_.Erase("42", 1, insert.born).status, OpStatus::kMissing);
  EXPECT_EQ(things_.Erase("42").status, OpStatus::kMissing);
}

TEST_P(StoreConformance, ErasingAnyVersionErasesAnExpiredLockToo) {
  const AcquireOp grant = things_.Create("42");
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Erase("42").status, OpStatus::kDone);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kMissing);
}

}  // namespace
}  // namespace doclock::conformance
