#include "rules/fault.h"

#include <gtest/gtest.h>

#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

TEST(Faults, OfAWrite) {
  Collection collection{"orders", {}, kTtl};
  const Key key{"1"};
  GrantRequest next;
  next.lock_id = kFresh;
  WriteOp op(collection, key);
  op.request.lock_id = kHolder;
  op.request.next = &next;
  EXPECT_EQ(FaultOf(op), nullptr);
  next.lock_id = kHolder;
  EXPECT_STREQ(FaultOf(op), "a lock is not handed over to itself");
  next.lock_id = Uuid{};
  EXPECT_STREQ(FaultOf(op), "a lock id must not be nil");
  next.lock_id = kFresh;
  next.mode = LockMode::kShared;
  EXPECT_STREQ(FaultOf(op), "a lock is not handed over to a share");
  next.mode = LockMode::kExclusive;
  op.request.write = WriteKind::kErase;
  EXPECT_STREQ(FaultOf(op), "only a release hands a lock over");
}

}  // namespace
}  // namespace doclock::rules::testing
