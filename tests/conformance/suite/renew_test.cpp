#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, ARenewalStartsTheLeaseAnew) {
  const AcquireOp grant = things_.Create("42");
  clock().Advance(20s);
  EXPECT_EQ(things_.Renew("42", grant.grant.lock_id).status, OpStatus::kDone);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, kTtl));
  clock().Advance(20s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
}

TEST_P(StoreConformance, ARenewalMayChangeTheTtl) {
  const AcquireOp grant = things_.Create("42");
  things_.Renew("42", grant.grant.lock_id, 1h);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, 1h));
}

TEST_P(StoreConformance, ARenewalLeavesTheVersion) {
  const AcquireOp grant = things_.Create("42");
  things_.Renew("42", grant.grant.lock_id);
  EXPECT_EQ(things_.Read("42").version, grant.version);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
}

TEST_P(StoreConformance, ARenewalNeverCreates) {
  EXPECT_EQ(things_.Renew("42", FreshId()).status, OpStatus::kMissing);
  EXPECT_EQ(things_.Read("42").status, OpStatus::kMissing);
}

TEST_P(StoreConformance, ARenewalNeverRevives) {
  const AcquireOp grant = things_.Create("42");
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Renew("42", grant.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(StoreConformance, ARenewalOfAFreeLockIsLost) {
  const AcquireOp grant = things_.Create("42");
  things_.Release("42", grant);
  EXPECT_EQ(things_.Renew("42", grant.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Renew("42", Uuid{}).status, OpStatus::kLost);
}

TEST_P(StoreConformance, ARenewalByAStrangerIsLost) {
  const AcquireOp grant = things_.Create("42");
  clock().Advance(10s);
  EXPECT_EQ(things_.Renew("42", FreshId()).status, OpStatus::kLost);
  EXPECT_EQ(things_.Renew("42", Uuid{}).status, OpStatus::kLost);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, 20s));
  EXPECT_EQ(things_.Read("42").lock_id, grant.grant.lock_id);
}

TEST_P(StoreConformance, ATakenOverHolderLearnsItByRenewing) {
  const AcquireOp first = things_.Create("42");
  things_.Steal("42");
  EXPECT_EQ(things_.Renew("42", first.grant.lock_id).status, OpStatus::kLost);
}

}  // namespace
}  // namespace doclock::conformance
