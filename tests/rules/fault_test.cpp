#include "rules/fault.h"

#include <gtest/gtest.h>

#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

TEST(Faults, OfAGrant) {
  GrantRequest grant;
  EXPECT_STREQ(FaultOf(grant), "a lock id must not be nil");
  grant.lock_id = kSharedLockId;
  EXPECT_STREQ(FaultOf(grant), "this lock id says that a lock is shared");
  grant.lock_id = kFresh;
  grant.max_holders = 0;
  EXPECT_EQ(FaultOf(grant), nullptr) << "counts for shares only";
  grant.mode = LockMode::kShared;
  EXPECT_STREQ(FaultOf(grant), "max_holders must be 1 to kMaxHolders");
  grant.max_holders = kMaxHolders + 1;
  EXPECT_STREQ(FaultOf(grant), "max_holders must be 1 to kMaxHolders");
  grant.max_holders = kMaxHolders;
  EXPECT_EQ(FaultOf(grant), nullptr);
}

TEST(Faults, OfAWrite) {
  Collection collection{"orders", {}, kTtl};
  const Key key{"1"};
  GrantRequest next;
  next.lock_id = kFresh;
  WriteOp op(collection, key);
  op.lock_id = kHolder;
  op.next = &next;
  EXPECT_EQ(FaultOf(op), nullptr);
  next.lock_id = kHolder;
  EXPECT_STREQ(FaultOf(op), "a lock is not handed over to itself");
  next.lock_id = Uuid{};
  EXPECT_STREQ(FaultOf(op), "a lock id must not be nil");
  next.lock_id = kFresh;
  next.mode = LockMode::kShared;
  EXPECT_STREQ(FaultOf(op), "a lock is not handed over to a share");
  next.mode = LockMode::kExclusive;
  op.write = WriteKind::kErase;
  EXPECT_STREQ(FaultOf(op), "only a release hands a lock over");
  op.next = nullptr;
  op.mode = LockMode::kShared;
  EXPECT_STREQ(FaultOf(op), "a share can be released, with a note at most");
}

TEST(Faults, OfASave) {
  Collection collection{"orders", {}, kTtl};
  const Key key{"1"};
  SaveOp op(collection, key);
  op.save = SaveKind::kInsert;
  op.body = Body::FromJson({{"a", 1}});
  EXPECT_EQ(FaultOf(op), nullptr);
  op.body = Body();
  EXPECT_STREQ(FaultOf(op), "an insert needs a body");
  op.save = SaveKind::kReplace;
  EXPECT_STREQ(FaultOf(op), "a replacement needs the version it replaces");
  op.save = SaveKind::kErase;
  EXPECT_EQ(FaultOf(op), nullptr);
}

}  // namespace
}  // namespace doclock::rules::testing
