#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, AnAcquireOfAMissingDocumentWithoutABodyIsMissing) {
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kMissing);
  EXPECT_EQ(things_.Read("42").status, OpStatus::kMissing);
}

TEST_P(StoreConformance, AnAcquireWithABodyMakesTheDocument) {
  const AcquireOp grant = things_.Create("42", {{"step", "new"}});
  EXPECT_TRUE(grant.created);
  EXPECT_FALSE(grant.took_over);
  EXPECT_EQ(grant.version, 1);
  EXPECT_EQ(grant.born, grant.grant.lock_id) << "whose reply was lost can tell by it who made it";
  EXPECT_EQ(grant.body.json(), Json({{"step", "new"}}));
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.locked);
  EXPECT_EQ(read.lock_id, grant.grant.lock_id);
  EXPECT_EQ(read.born, grant.born);
  EXPECT_TRUE(clock().IsLeft(read.remaining, kTtl));
  EXPECT_TRUE(read.released.is_nil());
}

TEST_P(StoreConformance, ExistingBodyWinsOverTheGivenOne) {
  things_.Release("42", things_.Create("42", {{"step", "stored"}}));
  const AcquireOp grant = things_.Create("42", {{"step", "given"}});
  EXPECT_FALSE(grant.created);
  EXPECT_EQ(grant.body.json(), Json({{"step", "stored"}}));
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"step", "stored"}}));
}

TEST_P(StoreConformance, ABusyLockTellsItsHolderAndWhatIsLeft) {
  things_.Create("42", {}, {.ttl = 30s, .owner = "alice"});
  clock().Advance(10s);
  const AcquireOp second = things_.Acquire("42", {.insert = MakeBody({{"a", 1}})});
  ASSERT_EQ(second.status, OpStatus::kBusy);
  ASSERT_TRUE(second.detail);
  EXPECT_EQ(second.detail->holder.name, "alice");
  EXPECT_TRUE(clock().IsLeft(second.detail->remaining, 20s));
}

TEST_P(StoreConformance, ARefusedAcquireChangesNothing) {
  const AcquireOp first = things_.Create("42", {{"a", 1}});
  things_.Acquire("42", {.insert = MakeBody({{"a", 2}}), .ttl = 1h});
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.version, first.version);
  EXPECT_EQ(read.lock_id, first.grant.lock_id);
  EXPECT_TRUE(clock().IsLeft(read.remaining, kTtl));
  EXPECT_EQ(read.body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, ALeaseEndsExactlyWhenItsTtlIsOver) {
  things_.Create("42", {}, {.ttl = 30s});
  clock().Advance(30s - clock().tick());
  const AcquireOp early = things_.Acquire("42");
  ASSERT_EQ(early.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(early.detail->remaining, clock().tick()));
  clock().Advance(clock().tick());
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(StoreConformance, AnExpiredLockIsTakenOver) {
  const AcquireOp first = things_.Create("42", {{"a", 1}});
  clock().Advance(kTtl);
  const AcquireOp second = things_.Acquire("42");
  ASSERT_EQ(second.status, OpStatus::kDone);
  EXPECT_TRUE(second.took_over);
  EXPECT_FALSE(second.created);
  EXPECT_EQ(second.version, first.version + 1);
  EXPECT_EQ(second.born, first.born);
  EXPECT_EQ(second.body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, ATakenReleasedLockIsNoTakeOver) {
  things_.Release("42", things_.Create("42"));
  EXPECT_FALSE(things_.Acquire("42").took_over);
}

TEST_P(StoreConformance, EachLockHasTheTtlOfItsOwnGrant) {
  things_.Release("42", things_.Create("42", {}, {.ttl = 1h}));
  things_.Acquire("42", {.ttl = 1s});
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, 1s));
  clock().Advance(1s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(StoreConformance, TheVersionRisesByOneWithEachGrantAndEachWrite) {
  AcquireOp grant = things_.Create("42");
  EXPECT_EQ(grant.version, 1);
  EXPECT_EQ(things_.Release("42", grant).version, 2);
  grant = things_.Acquire("42");
  EXPECT_EQ(grant.version, 3);
  const WriteOp saved = things_.Write("42", WriteKind::kCheckpoint, grant.grant.lock_id,
                                      {.expected = 3, .body = MakeBody({{"a", 1}})});
  EXPECT_EQ(saved.version, 4);
  EXPECT_EQ(things_.Release("42", grant.grant.lock_id, {.expected = 4}).version, 5);
  EXPECT_EQ(things_.Read("42").version, 5);
}

TEST_P(StoreConformance, TheVersionSurvivesExpiryAndBreak) {
  things_.Create("42");
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Read("42").version, 1);
  EXPECT_EQ(things_.Acquire("42").version, 2);
  things_.Break("42");
  EXPECT_EQ(things_.Read("42").version, 3);
  EXPECT_EQ(things_.Acquire("42").version, 4);
}

TEST_P(StoreConformance, AnExpiredLockIsStillShownWithItsId) {
  const AcquireOp grant = things_.Create("42");
  clock().Advance(kTtl);
  const ReadOp read = things_.Read("42");
  EXPECT_FALSE(read.locked);
  EXPECT_EQ(read.lock_id, grant.grant.lock_id);
}

TEST_P(StoreConformance, MinHoldKeepsTheLockClosedAfterARelease) {
  things_.Release("42", things_.Create("42", {}, {.ttl = 30s, .min_hold = 60s}));
  clock().Advance(59s);
  const AcquireOp early = things_.Acquire("42");
  ASSERT_EQ(early.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(early.detail->remaining, 1s));
  EXPECT_TRUE(early.detail->kept_closed) << "it is not locked";
  EXPECT_FALSE(things_.Read("42").locked);
  clock().Advance(1s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(StoreConformance, MinHoldKeepsTheLockClosedAfterADeadHolder) {
  things_.Create("42", {}, {.ttl = 30s, .min_hold = 60s});
  EXPECT_FALSE(things_.Acquire("42").detail->kept_closed) << "it is locked";
  clock().Advance(59s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
  clock().Advance(1s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(StoreConformance, MinHoldEndsWithTheGrantItBelongsTo) {
  things_.Release("42", things_.Create("42", {}, {.min_hold = 60s}));
  clock().Advance(60s);
  things_.Release("42", things_.Acquire("42"));
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(StoreConformance, MinHoldDoesNotEndAHoldersOwnRights) {
  const AcquireOp grant = things_.Create("42", {}, {.min_hold = 60s});
  EXPECT_EQ(things_.Renew("42", grant.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
}

}  // namespace
}  // namespace doclock::conformance
