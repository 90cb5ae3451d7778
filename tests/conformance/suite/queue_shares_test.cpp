#include "store_conformance.h"

namespace doclock::conformance {
namespace {

constexpr std::chrono::milliseconds kEntryLength = 20s;

/// Shares stand in the queue of waiters (see AcquireOp) together with exclusive attempts.
class WaitingShares : public StoreConformance {
 protected:
  void SetUp() override {
    if (!store().traits().queues) GTEST_SKIP() << "this store keeps no queue";
  }

  /// @param place 0: the attempt does not wait
  AcquireOp Share(const Uuid& id, std::chrono::milliseconds place = kEntryLength,
                  int limit = kMaxHolders) {
    return things_.Acquire(
        "42", {.id = id, .mode = LockMode::kShared, .max_holders = limit, .queue_for = place});
  }
  AcquireOp Lock(const Uuid& id, std::chrono::milliseconds place = kEntryLength) {
    return things_.Acquire("42", {.id = id, .queue_for = place});
  }
  WriteOp EndShare(const Uuid& id) {
    return things_.Release("42", id, {.mode = LockMode::kShared});
  }
  static void ExpectQueued(const AcquireOp& op, int ahead) {
    EXPECT_EQ(op.status, OpStatus::kBusy);
    EXPECT_TRUE(op.queued);
    EXPECT_EQ(op.ahead, ahead);
  }

  const Uuid ann_ = FreshId(), bob_ = FreshId(), cid_ = FreshId();
};

TEST_P(WaitingShares, AReaderIsPassedByNoMoreWritersThanWereBeforeIt) {
  Uuid holder = things_.Create("42").grant.lock_id;
  int passed = 0;
  for (; passed < 10; ++passed) {
    const Uuid writer = FreshId();
    Lock(writer);
    if (Share(ann_).status == OpStatus::kDone) break;
    ASSERT_EQ(things_.Release("42", holder).status, OpStatus::kDone);
    holder = writer;
  }
  EXPECT_LE(passed, 2);
}

/// Nobody takes a free lock before the share that is first, which asks itself.
TEST_P(WaitingShares, AFreeLockIsKeptForTheShareThatIsFirst) {
  const AcquireOp held = things_.Create("42");
  ExpectQueued(Share(ann_), 0);
  ExpectQueued(Lock(bob_), 1);
  EXPECT_EQ(things_.Release("42", held).status, OpStatus::kDone);
  EXPECT_FALSE(things_.Read("42").locked);
  const AcquireOp hasty = things_.Acquire("42");
  EXPECT_EQ(hasty.status, OpStatus::kBusy);
  ASSERT_TRUE(hasty.detail);
  ASSERT_TRUE(hasty.detail->remaining) << "the end of the entry";
  EXPECT_LE(*hasty.detail->remaining, kEntryLength);
  ExpectQueued(Lock(bob_), 1);
  const AcquireOp share = Share(ann_);
  ASSERT_EQ(share.status, OpStatus::kDone);
  EXPECT_EQ(share.version, held.version + 2);
  EXPECT_FALSE(share.passed_on);
  ExpectQueued(Lock(bob_), 0);
}

TEST_P(WaitingShares, AFreeLockIsKeptNoLongerThanTheEntryOfTheShareCounts) {
  const AcquireOp held = things_.Create("42");
  Share(ann_, 2s);
  things_.Release("42", held);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
  clock().Advance(2s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(WaitingShares, SharesThatWaitTogetherShare) {
  const AcquireOp held = things_.Create("42");
  ExpectQueued(Share(ann_), 0);
  ExpectQueued(Share(bob_), 1);
  ExpectQueued(Lock(cid_), 2);
  things_.Release("42", held);
  EXPECT_EQ(Share(bob_).status, OpStatus::kDone) << "whoever comes first";
  EXPECT_EQ(Share(ann_).status, OpStatus::kDone);
  EXPECT_EQ(things_.Locks({.key = "42"}).front().waiting, 1);
}

TEST_P(WaitingShares, AShareDoesNotPassAWriterThatWaits) {
  const AcquireOp first = things_.Create("42", {}, {.id = ann_, .mode = LockMode::kShared});
  ExpectQueued(Lock(bob_), 0);
  const AcquireOp hasty = Share(FreshId(), 0ms);
  EXPECT_EQ(hasty.status, OpStatus::kBusy);
  EXPECT_FALSE(hasty.queued);
  EXPECT_EQ(hasty.ahead, 1);
  ExpectQueued(Share(cid_), 1);
  EXPECT_EQ(EndShare(ann_).status, OpStatus::kDone);
  const AcquireOp writer = Lock(bob_);
  ASSERT_EQ(writer.status, OpStatus::kDone);
  EXPECT_TRUE(writer.passed_on);
  EXPECT_GT(writer.version, first.version) << "its fence is above that of every share";
  EXPECT_EQ(things_.Read("42").version, writer.version);
  ExpectQueued(Share(cid_), 0);
  EXPECT_EQ(things_.Release("42", bob_).status, OpStatus::kDone);
  EXPECT_EQ(Share(cid_).status, OpStatus::kDone);
}

TEST_P(WaitingShares, AShareThatLeavesAFreeLockPassesItOn) {
  const AcquireOp held = things_.Create("42");
  ExpectQueued(Share(ann_), 0);
  ExpectQueued(Lock(bob_), 1);
  ASSERT_EQ(things_.Release("42", held).status, OpStatus::kDone);
  const WriteOp left = things_.Write("42", WriteKind::kLeave, ann_);
  EXPECT_EQ(left.status, OpStatus::kDone);
  EXPECT_EQ(left.version, held.version + 2);
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.lock_id, bob_);
  EXPECT_EQ(read.version, left.version);
}

/// The document shows the waiter's id still: it was granted the lock before, and let it lapse.
TEST_P(WaitingShares, AShareThatLeavesPassesTheLockOnToAWaiterThatLetItLapse) {
  const AcquireOp held = things_.Create("42");
  ExpectQueued(Lock(bob_), 0);
  ExpectQueued(Share(ann_), 1);
  ASSERT_EQ(things_.Release("42", held).status, OpStatus::kDone);
  clock().Advance(kProbation + 1s);
  ExpectQueued(Lock(bob_), 1);
  const WriteOp left = things_.Write("42", WriteKind::kLeave, ann_);
  EXPECT_EQ(left.status, OpStatus::kDone);
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.locked);
  EXPECT_EQ(read.lock_id, bob_);
  EXPECT_EQ(read.version, left.version);
  const AcquireOp granted = Lock(bob_);
  EXPECT_EQ(granted.status, OpStatus::kDone);
  EXPECT_EQ(granted.version, left.version);
}

TEST_P(WaitingShares, AShareThatIsOverIsNotLeft) {
  things_.Create("42", {}, {.id = ann_, .ttl = 2s, .mode = LockMode::kShared});
  clock().Advance(2s);
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, ann_).status, OpStatus::kLost);
}

TEST_P(WaitingShares, AWriterThatLeavesLetsNewSharesInAtOnce) {
  things_.Create("42", {}, {.id = ann_, .mode = LockMode::kShared});
  ExpectQueued(Lock(bob_), 0);
  EXPECT_EQ(Share(cid_, 0ms).status, OpStatus::kBusy);
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, bob_).status, OpStatus::kDone);
  EXPECT_EQ(Share(cid_, 0ms).status, OpStatus::kDone);
}

TEST_P(WaitingShares, OnlyTheLastShareThatEndsPassesTheLockOn) {
  const auto pass = [&](const char* how, const auto& end) {
    things_.Erase("42");
    things_.Create("42", {}, {.id = ann_, .mode = LockMode::kShared});
    const AcquireOp last = Share(cid_);
    ASSERT_EQ(last.status, OpStatus::kDone) << how;
    ExpectQueued(Lock(bob_), 0);
    EXPECT_EQ(EndShare(ann_).status, OpStatus::kDone) << how;
    ExpectQueued(Lock(bob_), 0);
    EXPECT_EQ(end().status, OpStatus::kDone) << how;
    const ReadOp read = things_.Read("42");
    EXPECT_EQ(read.lock_id, bob_) << how;
    EXPECT_EQ(read.version, last.version + 1) << how;
    EXPECT_EQ(Lock(bob_).version, last.version + 1) << how;
    EXPECT_EQ(things_.Release("42", bob_).status, OpStatus::kDone) << how;
  };
  pass("released", [&] { return EndShare(cid_); });
  pass("released with a note", [&] {
    return things_.Release(
        "42", cid_, {.body = MakeBody({{"n", 1}}), .merge = true, .mode = LockMode::kShared});
  });
  pass("left", [&] { return things_.Write("42", WriteKind::kLeave, cid_); });
}

TEST_P(WaitingShares, AWaiterLeavesItsEntryOrItsShare) {
  const AcquireOp held = things_.Create("42");
  ExpectQueued(Share(ann_), 0);
  ExpectQueued(Share(bob_), 1);
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, ann_).status, OpStatus::kDone);
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, ann_).status, OpStatus::kLost);
  EXPECT_EQ(things_.Read("42").lock_id, held.grant.lock_id);
  things_.Release("42", held);
  ASSERT_EQ(Share(bob_).status, OpStatus::kDone);
  ASSERT_EQ(Share(cid_).status, OpStatus::kDone);
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, bob_).status, OpStatus::kDone);
  EXPECT_EQ(things_.Renew("42", bob_, kTtl, LockMode::kShared).status, OpStatus::kLost);
  EXPECT_EQ(things_.Renew("42", cid_, kTtl, LockMode::kShared).status, OpStatus::kDone);
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, cid_).status, OpStatus::kDone);
  EXPECT_FALSE(things_.Read("42").locked);
}

/// The time and the length of the lock become those of another share.
TEST_P(WaitingShares, TheShareThatEndsLastLeavesTheOthers) {
  things_.Create("42", {}, {.id = ann_, .ttl = 3 * kTtl, .mode = LockMode::kShared});
  ASSERT_EQ(things_.Acquire("42", {.id = bob_, .ttl = 2 * kTtl, .mode = LockMode::kShared}).status,
            OpStatus::kDone);
  std::this_thread::sleep_for(5ms);  // the last grant is not of the share that ends last then
  ASSERT_EQ(Share(cid_).status, OpStatus::kDone);
  const WriteOp left = things_.Write("42", WriteKind::kLeave, ann_);
  EXPECT_EQ(left.status, OpStatus::kDone) << (left.detail ? left.detail->message : "");
  EXPECT_TRUE(things_.Read("42").locked);
  EXPECT_EQ(things_.Renew("42", ann_, kTtl, LockMode::kShared).status, OpStatus::kLost);
  EXPECT_EQ(things_.Renew("42", bob_, kTtl, LockMode::kShared).status, OpStatus::kDone);
}

TEST_P(WaitingShares, AWriterThatLeavesLetsTheSharesBehindItIn) {
  things_.Create("42", {}, {.id = ann_, .mode = LockMode::kShared});
  ExpectQueued(Lock(bob_), 0);
  ExpectQueued(Share(cid_), 1);
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, bob_).status, OpStatus::kDone);
  EXPECT_EQ(Share(cid_).status, OpStatus::kDone);
}

TEST_P(WaitingShares, AskingAgainUnderTheSameIdChangesNothing) {
  const AcquireOp held = things_.Create("42");
  ExpectQueued(Share(ann_), 0);
  ExpectQueued(Share(ann_), 0);
  things_.Release("42", held);
  const AcquireOp share = Share(ann_);
  ASSERT_EQ(share.status, OpStatus::kDone);
  ASSERT_EQ(Share(bob_).status, OpStatus::kDone);
  ExpectQueued(Lock(cid_), 0);
  const std::int64_t version = things_.Read("42").version;
  const AcquireOp again = Share(ann_);
  ASSERT_EQ(again.status, OpStatus::kDone) << "also before the writer: it is its own share";
  EXPECT_EQ(again.version, share.version) << "that of its own grant";
  EXPECT_EQ(things_.Read("42").version, version);
  EXPECT_EQ(EndShare(ann_).status, OpStatus::kDone);
  EXPECT_EQ(EndShare(bob_).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").lock_id, cid_) << "there was one share of each";
}

TEST_P(WaitingShares, AShareDoesNotTakeTheRoomOfThoseThatWaitLonger) {
  things_.Create("42", {}, {.id = ann_, .mode = LockMode::kShared, .max_holders = 1});
  ExpectQueued(Share(bob_, kEntryLength, 1), 0);
  EXPECT_EQ(EndShare(ann_).status, OpStatus::kDone);
  EXPECT_EQ(Share(cid_, 0ms, 1).status, OpStatus::kBusy);
  EXPECT_EQ(Share(cid_, 0ms, 2).status, OpStatus::kDone) << "there is room for both";
  EXPECT_EQ(EndShare(cid_).status, OpStatus::kDone);
  EXPECT_EQ(Share(bob_, kEntryLength, 1).status, OpStatus::kDone);
}

INSTANTIATE_TEST_SUITE_P(Stores, WaitingShares, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
