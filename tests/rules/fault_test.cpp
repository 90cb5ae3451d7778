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
  for (const int limit : {1, kMaxHolders}) {
    grant.max_holders = limit;
    EXPECT_EQ(FaultOf(grant), nullptr);
  }
}

TEST(Faults, OfAGrantToTheNextDocument) {
  GrantRequest grant;
  EXPECT_STREQ(FaultOfNext(grant), "a lock id must not be nil");
  grant.lock_id = kFresh;
  EXPECT_EQ(FaultOfNext(grant), nullptr);
  grant.mode = LockMode::kShared;
  EXPECT_STREQ(FaultOfNext(grant), "shares are taken of named documents");
}

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

TEST(Faults, OfAWriteOfAShare) {
  Collection collection{"orders", {}, kTtl};
  const Key key{"1"};
  GrantRequest next;
  next.lock_id = kFresh;
  const Body body = Body::FromJson({{"note", 1}});
  for (const WriteKind kind : {WriteKind::kRelease, WriteKind::kCheckpoint, WriteKind::kErase}) {
    for (const bool merge : {false, true}) {
      for (const bool with_body : {false, true}) {
        for (const bool with_next : {false, true}) {
          for (const std::int64_t expected : {kAnyVersion, kVersion}) {
            WriteOp op(collection, key);
            op.request.lock_id = kHolder;
            op.request.write = kind;
            op.request.merge = merge;
            if (with_body) op.request.body = body;
            if (with_next) op.request.next = &next;
            op.request.expected = expected;
            const bool release = kind == WriteKind::kRelease;
            EXPECT_EQ(FaultOf(op) == nullptr, release || !with_next) << "of an exclusive lock";
            op.request.mode = LockMode::kShared;
            const bool plain = release && !with_next && expected == kAnyVersion;
            EXPECT_EQ(FaultOf(op) == nullptr, plain && (merge || !with_body));
          }
        }
      }
    }
  }
}

TEST(Faults, OfALeave) {
  Collection collection{"orders", {}, kTtl};
  const Key key{"1"};
  WriteOp op(collection, key);
  op.request.write = WriteKind::kLeave;
  op.request.lock_id = kHolder;
  EXPECT_EQ(FaultOf(op), nullptr);
  op.request.body = Body::FromJson({{"a", 1}});
  EXPECT_STREQ(FaultOf(op), "a waiter leaves the queue of an exclusive lock, without a body");
  op.request.body = Body();
  op.request.mode = LockMode::kShared;
  EXPECT_STREQ(FaultOf(op), "a waiter leaves the queue of an exclusive lock, without a body");
  op.request.mode = LockMode::kExclusive;
  GrantRequest next;
  next.lock_id = kFresh;
  op.request.next = &next;
  EXPECT_STREQ(FaultOf(op), "only a release hands a lock over");
}

TEST(Faults, OfASave) {
  Collection collection{"orders", {}, kTtl};
  const Key key{"1"};
  SaveOp op(collection, key);
  op.request.save = SaveKind::kInsert;
  op.request.body = Body::FromJson({{"a", 1}});
  EXPECT_EQ(FaultOf(op), nullptr);
  op.request.body = Body();
  EXPECT_STREQ(FaultOf(op), "an insert needs a body");
  op.request.save = SaveKind::kReplace;
  EXPECT_STREQ(FaultOf(op), "a replacement needs the version it replaces");
  op.request.expected = kVersion;
  EXPECT_EQ(FaultOf(op), nullptr) << "it may leave the body";
  op.request.expected = kAnyVersion;
  op.request.save = SaveKind::kErase;
  EXPECT_EQ(FaultOf(op), nullptr);
}

}  // namespace
}  // namespace doclock::rules::testing
