#include "rules/plain.h"

#include <gtest/gtest.h>

#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

using std::chrono::seconds;

class PlainKinds : public ::testing::Test {
 protected:
  Collection collection_{"orders", {}, kTtl};
  const Key key_{"1"};
  const Body body_ = Body::FromText("{}");
  AcquireOp acquire_{collection_, key_};
  RenewOp renew_{collection_, key_};
  WriteOp write_{collection_, key_};
  SaveOp save_{collection_, key_};
};

TEST_F(PlainKinds, OfAttempts) {
  EXPECT_EQ(PlainOf(acquire_), Plain::kTakeFree);
  acquire_.request.insert = body_;
  EXPECT_EQ(PlainOf(acquire_), Plain::kTakeFree);
  acquire_.request.grant.min_hold = seconds(1);
  EXPECT_EQ(PlainOf(acquire_), Plain::kTakeAndClose);
  acquire_.request.grant.mode = LockMode::kShared;
  EXPECT_EQ(PlainOf(acquire_), Plain::kTakeShare);
  acquire_.request.grant.queue_for = seconds(1);
  EXPECT_EQ(PlainOf(acquire_), Plain::kJoinQueue);
  acquire_.request.grant.mode = LockMode::kExclusive;
  EXPECT_EQ(PlainOf(acquire_), Plain::kJoinQueue);
}

TEST_F(PlainKinds, OfRenewalsAndReads) {
  EXPECT_EQ(PlainOf(renew_), Plain::kRenew);
  renew_.request.mode = LockMode::kShared;
  EXPECT_EQ(PlainOf(renew_), Plain::kRenewShare);
  EXPECT_EQ(PlainOf(ReadOp(collection_, key_)), Plain::kNone);
}

TEST_F(PlainKinds, OfWrites) {
  EXPECT_EQ(PlainOf(write_), Plain::kRelease);
  GrantRequest next;
  write_.request.next = &next;
  EXPECT_EQ(PlainOf(write_), Plain::kHandOver);
  write_.request.body = body_;
  EXPECT_EQ(PlainOf(write_), Plain::kHandOver);
  next.min_hold = seconds(1);
  EXPECT_EQ(PlainOf(write_), Plain::kOtherWrite);
  write_.request.next = nullptr;
  EXPECT_EQ(PlainOf(write_), Plain::kWriteAndRelease);
  write_.request.merge = true;
  EXPECT_EQ(PlainOf(write_), Plain::kOtherWrite);
  write_.request.mode = LockMode::kShared;
  EXPECT_EQ(PlainOf(write_), Plain::kEndShare);
  write_.request.mode = LockMode::kExclusive;
  write_.request.body = {};
  EXPECT_EQ(PlainOf(write_), Plain::kRelease) << "it has nothing to merge";
  write_.request.merge = false;
  write_.request.write = WriteKind::kCheckpoint;
  EXPECT_EQ(PlainOf(write_), Plain::kOtherWrite);
  write_.request.body = body_;
  EXPECT_EQ(PlainOf(write_), Plain::kCheckpoint);
  write_.request.write = WriteKind::kErase;
  EXPECT_EQ(PlainOf(write_), Plain::kOtherWrite);
  write_.request.write = WriteKind::kLeave;
  EXPECT_EQ(PlainOf(write_), Plain::kNone);
}

TEST_F(PlainKinds, OfSaves) {
  for (const SaveKind kind : {SaveKind::kInsert, SaveKind::kReplace}) {
    save_.request.save = kind;
    EXPECT_EQ(PlainOf(save_), Plain::kSave);
  }
  save_.request.save = SaveKind::kErase;
  EXPECT_EQ(PlainOf(save_), Plain::kEraseAny);
  save_.request.expected = 1;
  EXPECT_EQ(PlainOf(save_), Plain::kSave);
}

}  // namespace
}  // namespace doclock::rules::testing
