#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, AReleaseWritesTheBodyAndClearsTheLock) {
  const AcquireOp grant = things_.Create("42", {{"step", "new"}});
  const WriteOp release = things_.Release("42", grant, MakeBody({{"step", "paid"}}));
  ASSERT_EQ(release.status, OpStatus::kDone);
  EXPECT_EQ(release.version, 2);
  const ReadOp read = things_.Read("42");
  EXPECT_FALSE(read.locked);
  EXPECT_TRUE(read.lock_id.is_nil());
  EXPECT_EQ(read.released, grant.grant.lock_id);
  EXPECT_EQ(read.body.json(), Json({{"step", "paid"}}));
  EXPECT_EQ(read.born, grant.born);
}

TEST_P(StoreConformance, AReleaseWithoutABodyLeavesItAsItWas) {
  const AcquireOp grant = things_.Create("42", {{"step", "new"}});
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"step", "new"}}));
}

TEST_P(StoreConformance, AReleaseReplacesTheWholeBody) {
  const AcquireOp grant = things_.Create("42", {{"a", 1}, {"b", 2}});
  things_.Release("42", grant, MakeBody({{"b", 3}}));
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"b", 3}}));
}

TEST_P(StoreConformance, AReleaseByAStrangerIsLostAndChangesNothing) {
  const AcquireOp grant = things_.Create("42", {{"a", 1}});
  for (const WriteKind kind : {WriteKind::kRelease, WriteKind::kCheckpoint, WriteKind::kErase}) {
    const WriteOp stranger =
        things_.Write("42", kind, FreshId(), {.expected = 1, .body = MakeBody({{"a", 2}})});
    EXPECT_EQ(stranger.status, OpStatus::kLost);
  }
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.version, 1);
  EXPECT_EQ(read.lock_id, grant.grant.lock_id);
  EXPECT_EQ(read.body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, ANilLockIdMatchesNothing) {
  const AcquireOp grant = things_.Create("42");
  EXPECT_EQ(things_.Release("42", Uuid{}).status, OpStatus::kLost);
  things_.Release("42", grant);
  EXPECT_EQ(things_.Release("42", Uuid{}, {.expected = 2}).status, OpStatus::kLost);
  EXPECT_EQ(things_.Write("42", WriteKind::kErase, Uuid{}).status, OpStatus::kLost);
  EXPECT_EQ(things_.Read("42").version, 2);
}

TEST_P(StoreConformance, ASecondReleaseIsLost) {
  const AcquireOp grant = things_.Create("42");
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", grant.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Read("42").version, 2);
}

TEST_P(StoreConformance, WritingToAMissingDocumentIsMissing) {
  EXPECT_EQ(things_.Release("42", FreshId(), {.body = MakeBody({{"a", 1}})}).status,
            OpStatus::kMissing);
  EXPECT_EQ(things_.Write("42", WriteKind::kErase, FreshId()).status, OpStatus::kMissing);
  EXPECT_EQ(things_.Read("42").status, OpStatus::kMissing);
}

TEST_P(StoreConformance, AnExpiredLockThatWasNotGrantedAgainMayStillBeReleased) {
  const AcquireOp grant = things_.Create("42");
  clock().Advance(2 * kTtl);
  EXPECT_EQ(things_.Release("42", grant, MakeBody({{"a", 1}})).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, AnExpiredLockThatWasGrantedAgainIsLost) {
  const AcquireOp first = things_.Create("42");
  clock().Advance(kTtl);
  const AcquireOp second = things_.Acquire("42");
  EXPECT_EQ(things_.Release("42", first, MakeBody({{"a", 1}})).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", second).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json::object());
}

TEST_P(StoreConformance, ADelayedEarlierSaveNeverOverwritesALaterOne) {
  const AcquireOp grant = things_.Create("42");
  const Uuid id = grant.grant.lock_id;
  const WriteArgs late{.expected = 1, .body = MakeBody({{"save", "first"}})};
  const WriteArgs done{.expected = 1, .body = MakeBody({{"save", "second"}})};
  EXPECT_EQ(things_.Write("42", WriteKind::kCheckpoint, id, done).status, OpStatus::kDone);
  EXPECT_EQ(things_.Write("42", WriteKind::kCheckpoint, id, late).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", id, late).status, OpStatus::kLost);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"save", "second"}}));
}

TEST_P(StoreConformance, ACheckpointWritesAndRenewsAndKeepsTheLock) {
  const AcquireOp grant = things_.Create("42");
  clock().Advance(20s);
  const WriteOp save = things_.Write("42", WriteKind::kCheckpoint, grant.grant.lock_id,
                                     {.expected = 1, .body = MakeBody({{"a", 1}}), .ttl = 60s});
  EXPECT_EQ(save.status, OpStatus::kDone);
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.lock_id, grant.grant.lock_id);
  EXPECT_TRUE(clock().IsLeft(read.remaining, 60s));
  EXPECT_EQ(read.body.json(), Json({{"a", 1}}));
  EXPECT_TRUE(read.released.is_nil());
}

TEST_P(StoreConformance, ErasingRemovesDocumentAndLock) {
  const AcquireOp grant = things_.Create("42");
  EXPECT_EQ(things_.Write("42", WriteKind::kErase, grant.grant.lock_id, {.expected = 1}).status,
            OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").status, OpStatus::kMissing);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kMissing);
  EXPECT_EQ(things_.Renew("42", grant.grant.lock_id).status, OpStatus::kMissing);
}

TEST_P(StoreConformance, AnErasedDocumentsNextLifeIsBornAnew) {
  const AcquireOp first = things_.Create("42");
  things_.Write("42", WriteKind::kErase, first.grant.lock_id, {.expected = 1});
  const AcquireOp second = things_.Create("42");
  EXPECT_TRUE(second.created);
  EXPECT_NE(second.born, first.born);
  EXPECT_EQ(things_.Release("42", first).status, OpStatus::kLost);
}

TEST_P(StoreConformance, AReleaseByValueMergesItsFields) {
  const AcquireOp grant = things_.Create("42", {{"mine", 1}, {"other", {{"deep", true}}}});
  const WriteOp release =
      things_.Release("42", grant.grant.lock_id,
                      {.body = MakeBody({{"mine", {{"x", 2}}}, {"new", "n"}}), .merge = true});
  EXPECT_EQ(release.status, OpStatus::kDone);
  EXPECT_EQ(release.version, 2);
  EXPECT_EQ(things_.Read("42").body.json(),
            Json({{"mine", {{"x", 2}}}, {"new", "n"}, {"other", {{"deep", true}}}}));
}

TEST_P(StoreConformance, AMergeReplacesTopLevelFieldsWhole) {
  const AcquireOp grant = things_.Create("42", {{"a", {{"x", 1}, {"y", 2}}}, {"b", nullptr}});
  things_.Release("42", grant.grant.lock_id,
                  {.body = MakeBody({{"a", {{"x", 3}}}, {"c", nullptr}}), .merge = true});
  EXPECT_EQ(things_.Read("42").body.json(),
            Json({{"a", {{"x", 3}}}, {"b", nullptr}, {"c", nullptr}}));
}

TEST_P(StoreConformance, AHandOverIsOneWrite) {
  const AcquireOp first = things_.Create("42", {{"a", 1}}, {.owner = "alice"});
  GrantRequest next;
  next.lock_id = FreshId();
  next.ttl = 60s;
  LockHolder bob;
  bob.name = "bob";
  next.owner = std::make_shared<const LockHolder>(bob);
  clock().Advance(20s);
  const WriteOp over = things_.Release(
      "42", first.grant.lock_id, {.expected = 1, .body = MakeBody({{"a", 2}}), .next = &next});
  ASSERT_EQ(over.status, OpStatus::kDone);
  EXPECT_EQ(over.version, 2);
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.version, 2);
  EXPECT_EQ(read.lock_id, next.lock_id);
  EXPECT_TRUE(read.locked);
  EXPECT_TRUE(clock().IsLeft(read.remaining, 60s));
  EXPECT_EQ(read.holder.name, "bob");
  EXPECT_EQ(read.body.json(), Json({{"a", 2}}));
  EXPECT_EQ(things_.Release("42", first).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", next.lock_id, {.expected = 2}).status, OpStatus::kDone);
}

TEST_P(StoreConformance, AHandOverOfALostLockGrantsNothing) {
  const AcquireOp first = things_.Create("42");
  things_.Steal("42");
  GrantRequest next;
  next.lock_id = FreshId();
  next.ttl = kTtl;
  EXPECT_EQ(things_.Release("42", first.grant.lock_id, {.expected = 1, .next = &next}).status,
            OpStatus::kLost);
  EXPECT_NE(things_.Read("42").lock_id, next.lock_id);
}

TEST_P(StoreConformance, ABreakIsNotTakenForTheHoldersRelease) {
  const AcquireOp grant = things_.Create("42");
  things_.Break("42");
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.lock_id.is_nil());
  EXPECT_FALSE(read.released.is_nil());
  EXPECT_NE(read.released, grant.grant.lock_id);
}

}  // namespace
}  // namespace doclock::conformance
