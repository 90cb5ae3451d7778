#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "store_conformance.h"

namespace doclock::conformance {
namespace {

constexpr std::chrono::milliseconds kPlace = 20s;

/// The queue of waiters that a store keeps for each document (see AcquireOp).
class WaitingQueue : public StoreConformance {
 protected:
  void SetUp() override {
    if (!store().traits().queues) GTEST_SKIP() << "this store keeps no queue";
  }

  /// A waiter, under the id of all its attempts.
  struct Waiter {
    Uuid id = FreshId();
    std::string name;
    std::chrono::milliseconds ttl = kTtl;
    std::chrono::milliseconds min_hold = 0ms;
  };
  AcquireOp Ask(const Waiter& waiter, std::chrono::milliseconds place = kPlace) {
    return things_.Acquire("42", {.id = waiter.id,
                                  .ttl = waiter.ttl,
                                  .owner = waiter.name,
                                  .min_hold = waiter.min_hold,
                                  .group = waiter.name,
                                  .queue_for = place});
  }
  void Place(const Waiter& waiter, int ahead) {
    const AcquireOp op = Ask(waiter);
    ASSERT_EQ(op.status, OpStatus::kBusy);
    EXPECT_TRUE(op.queued);
    EXPECT_EQ(op.ahead, ahead);
    ASSERT_TRUE(op.detail);
  }
  WriteOp Leave(const Waiter& waiter) { return things_.Write("42", WriteKind::kLeave, waiter.id); }
  /// Does this waiter hold the lock, granted from the queue?
  void ExpectPassedOn(const Waiter& waiter, std::int64_t version) {
    const ReadOp read = things_.Read("42");
    EXPECT_EQ(read.lock_id, waiter.id);
    EXPECT_TRUE(read.locked);
    EXPECT_EQ(read.version, version);
    EXPECT_TRUE(clock().IsLeft(read.remaining, std::min<std::chrono::milliseconds>(waiter.ttl, 5s)))
        << read.remaining.count();
    EXPECT_EQ(read.holder.name, waiter.name);
    const AcquireOp again = Ask(waiter);
    ASSERT_EQ(again.status, OpStatus::kDone);
    EXPECT_TRUE(again.passed_on);
    EXPECT_EQ(again.version, version);
    EXPECT_EQ(again.born, read.born);
    EXPECT_EQ(again.body.json(), read.body.json());
    EXPECT_EQ(things_.Read("42").version, version) << "asking again changes nothing";
  }

  Waiter ann_{.name = "ann"}, bob_{.name = "bob"}, cid_{.name = "cid"};
};

TEST_P(WaitingQueue, AReleaseGrantsTheLockToTheFirst) {
  const AcquireOp grant = things_.Create("42", {{"n", 1}});
  Place(ann_, 0);
  Place(bob_, 1);
  const WriteOp release = things_.Release("42", grant, MakeBody({{"n", 2}}));
  EXPECT_EQ(release.status, OpStatus::kDone);
  EXPECT_EQ(release.version, 2) << "raised once for both";
  EXPECT_EQ(things_.Read("42").released, grant.grant.lock_id);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"n", 2}}));
  ExpectPassedOn(ann_, 2);
  Place(bob_, 0);
  EXPECT_EQ(things_.Release("42", ann_.id).status, OpStatus::kDone);
  ExpectPassedOn(bob_, 3);
  EXPECT_EQ(things_.Release("42", bob_.id).status, OpStatus::kDone);
  EXPECT_FALSE(things_.Read("42").locked);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone) << "nobody is left";
}

TEST_P(WaitingQueue, AReleaseByValueAndADiscardPassItOnToo) {
  const AcquireOp grant = things_.Create("42", {{"n", 1}});
  Place(ann_, 0);
  Place(bob_, 1);
  EXPECT_EQ(
      things_.Release("42", grant.grant.lock_id, {.body = MakeBody({{"m", 2}}), .merge = true})
          .status,
      OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"n", 1}, {"m", 2}}));
  ExpectPassedOn(ann_, 2);
  EXPECT_EQ(things_.Release("42", ann_.id, {.expected = 2}).status, OpStatus::kDone);
  ExpectPassedOn(bob_, 3);
}

TEST_P(WaitingQueue, AWaiterThatAsksAgainKeepsItsPlace) {
  const AcquireOp grant = things_.Create("42");
  Place(ann_, 0);
  Place(bob_, 1);
  clock().Advance(kPlace / 2);
  Place(ann_, 0);
  EXPECT_EQ(things_.Renew("42", grant.grant.lock_id).status, OpStatus::kDone);
  clock().Advance(kPlace * 3 / 4);
  Place(cid_, 1);  // the second entry is over
  things_.Release("42", grant);
  ExpectPassedOn(ann_, 2);
}

TEST_P(WaitingQueue, AnEntryThatIsOverIsSkipped) {
  const AcquireOp grant = things_.Create("42");
  Ask(ann_, 2s);
  Place(bob_, 1);
  clock().Advance(2s);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
  ExpectPassedOn(bob_, 2);
  EXPECT_EQ(Leave(ann_).status, OpStatus::kLost);
}

TEST_P(WaitingQueue, AnAttemptThatDoesNotWaitLeavesNothingAndPassesNobody) {
  const AcquireOp grant = things_.Create("42", {}, {.ttl = 10s});
  Place(ann_, 0);
  const AcquireOp hasty = things_.Acquire("42");
  EXPECT_EQ(hasty.status, OpStatus::kBusy);
  EXPECT_FALSE(hasty.queued);
  EXPECT_EQ(hasty.ahead, 1);
  clock().Advance(10s);
  const AcquireOp helper = things_.Acquire("42");
  EXPECT_EQ(helper.status, OpStatus::kBusy) << "the lock is over, and it is another's turn";
  ASSERT_TRUE(helper.detail);
  EXPECT_EQ(helper.detail->holder.name, "ann");
  ExpectPassedOn(ann_, 2);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kLost);
}

TEST_P(WaitingQueue, AWaiterBehindHelpsTheFirstAndTakesItsPlace) {
  things_.Create("42", {}, {.ttl = 10s});
  Place(ann_, 0);
  clock().Advance(10s);
  const AcquireOp op = Ask(bob_);
  EXPECT_EQ(op.status, OpStatus::kBusy);
  EXPECT_TRUE(op.queued);
  EXPECT_EQ(op.ahead, 0);
  ExpectPassedOn(ann_, 2);
  EXPECT_EQ(things_.Release("42", ann_.id).status, OpStatus::kDone);
  ExpectPassedOn(bob_, 3);
}

TEST_P(WaitingQueue, TheFirstTakesOverALockThatIsOver) {
  things_.Create("42", {}, {.ttl = 10s});
  Place(ann_, 0);
  Place(bob_, 1);
  clock().Advance(10s);
  const AcquireOp op = Ask(ann_);
  ASSERT_EQ(op.status, OpStatus::kDone);
  EXPECT_TRUE(op.took_over);
  EXPECT_FALSE(op.passed_on);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, kTtl)) << "of its whole length";
  Place(bob_, 0);
}

TEST_P(WaitingQueue, AWaiterThatDiedCostsTheOthersSeconds) {
  const AcquireOp grant = things_.Create("42");
  Place(ann_, 0);
  Place(bob_, 1);
  things_.Release("42", grant);
  clock().Advance(5s);
  const AcquireOp op = Ask(bob_);
  ASSERT_EQ(op.status, OpStatus::kDone);
  EXPECT_TRUE(op.took_over);
  EXPECT_EQ(things_.Release("42", ann_.id).status, OpStatus::kLost);
}

TEST_P(WaitingQueue, ARenewalAndACheckpointGiveTheWholeLease) {
  const AcquireOp grant = things_.Create("42");
  Place(ann_, 0);
  Place(bob_, 1);
  things_.Release("42", grant);
  EXPECT_EQ(things_.Renew("42", ann_.id).status, OpStatus::kDone);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, kTtl));
  things_.Release("42", ann_.id);
  const WriteArgs checkpoint{.expected = 3, .body = MakeBody({{"n", 1}})};
  EXPECT_EQ(things_.Write("42", WriteKind::kCheckpoint, bob_.id, checkpoint).status,
            OpStatus::kDone);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, kTtl));
}

TEST_P(WaitingQueue, AWaiterLeaves) {
  const AcquireOp grant = things_.Create("42");
  Place(ann_, 0);
  Place(bob_, 1);
  EXPECT_EQ(Leave(ann_).status, OpStatus::kDone);
  EXPECT_EQ(Leave(ann_).status, OpStatus::kLost);
  EXPECT_EQ(things_.Read("42").version, 1) << "nothing was written under the lock";
  EXPECT_EQ(things_.Read("42").lock_id, grant.grant.lock_id);
  Place(bob_, 0);
  things_.Release("42", grant);
  ExpectPassedOn(bob_, 2);
  Place(cid_, 0);
  EXPECT_EQ(Leave(bob_).status, OpStatus::kDone) << "it has the lock, and gives it up";
  ExpectPassedOn(cid_, 3);
  EXPECT_EQ(Leave(cid_).status, OpStatus::kDone);
  EXPECT_FALSE(things_.Read("42").locked);
  EXPECT_EQ(things_.Write("none", WriteKind::kLeave, cid_.id).status, OpStatus::kMissing);
}

TEST_P(WaitingQueue, ALeaveOfMoreIsRefused) {
  const AcquireOp grant = things_.Create("42");
  const Uuid id = grant.grant.lock_id;
  const WriteArgs body{.body = MakeBody({{"n", 1}})};
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, id, body).status, OpStatus::kFailed);
  const WriteArgs share{.mode = LockMode::kShared};
  EXPECT_EQ(things_.Write("42", WriteKind::kLeave, id, share).status, OpStatus::kFailed);
  EXPECT_TRUE(things_.Read("42").locked);
}

TEST_P(WaitingQueue, AHandOverLeavesTheQueueAndRemovesTheEntryItNames) {
  const AcquireOp grant = things_.Create("42");
  Place(ann_, 0);
  Place(bob_, 1);
  GrantRequest next;
  next.lock_id = FreshId();
  next.ttl = kTtl;
  next.entry = bob_.id;
  EXPECT_EQ(things_.Release("42", grant.grant.lock_id, {.next = &next}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").lock_id, next.lock_id);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, kTtl));
  Place(ann_, 0);
  EXPECT_EQ(Leave(bob_).status, OpStatus::kLost);
  things_.Release("42", next.lock_id);
  ExpectPassedOn(ann_, 3);
}

TEST_P(WaitingQueue, MinHoldKeepsWaitersOut) {
  const AcquireOp grant = things_.Create("42", {}, {.min_hold = 5s});
  Place(ann_, 0);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
  EXPECT_FALSE(things_.Read("42").locked) << "not passed on";
  Place(ann_, 0);
  Place(bob_, 1);
  clock().Advance(5s);
  EXPECT_EQ(Ask(ann_).status, OpStatus::kDone);
}

TEST_P(WaitingQueue, TheMinHoldOfAWaiterCountsFromItsGrant) {
  const AcquireOp grant = things_.Create("42");
  ann_.min_hold = 10s;
  Place(ann_, 0);
  Place(bob_, 1);
  things_.Release("42", grant);
  EXPECT_EQ(things_.Release("42", ann_.id).status, OpStatus::kDone);
  EXPECT_FALSE(things_.Read("42").locked) << "it is kept closed";
  Place(bob_, 0);
  clock().Advance(10s);
  EXPECT_EQ(Ask(bob_).status, OpStatus::kDone);
}

TEST_P(WaitingQueue, ASaveThatClearsALockPassesItOn) {
  const AcquireOp grant = things_.Create("42", {{"n", 1}}, {.ttl = 10s});
  Place(ann_, 0);
  clock().Advance(10s);
  const SaveOp save = things_.Replace("42", 1, grant.born, {{"n", 2}});
  ASSERT_EQ(save.status, OpStatus::kDone);
  EXPECT_EQ(save.version, 2);
  EXPECT_EQ(things_.Read("42").released, save.write_id);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"n", 2}}));
  ExpectPassedOn(ann_, 2);
}

TEST_P(WaitingQueue, ABreakPassesTheLockOn) {
  const AcquireOp grant = things_.Create("42");
  Place(ann_, 0);
  things_.Break("42");
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kLost);
  ExpectPassedOn(ann_, 2);
}

TEST_P(WaitingQueue, APurgeLeavesALockThatOthersWaitFor) {
  things_.Create("42", {}, {.ttl = 10s});
  Place(ann_, 0);
  clock().Advance(10s);
  EXPECT_EQ(things_.Purge(), 0);
  EXPECT_EQ(Ask(ann_).status, OpStatus::kDone);
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Purge(), 1);
}

TEST_P(WaitingQueue, AnErasureEndsIt) {
  const AcquireOp grant = things_.Create("42");
  Place(ann_, 0);
  EXPECT_EQ(things_.Write("42", WriteKind::kErase, grant.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(Ask(ann_).status, OpStatus::kMissing);
  things_.Insert("42", {{"n", 1}});
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(WaitingQueue, ASearchSkipsADocumentThatOthersWaitFor) {
  things_.Create("42", {{"n", 1}}, {.ttl = 10s});
  things_.Insert("43", {{"n", 2}});
  Place(ann_, 0);
  clock().Advance(10s);
  EXPECT_EQ(things_.AcquireNext(Filter().OrderBy("n")).key, Key("43"));
  EXPECT_EQ(things_.AcquireNext(Filter().OrderBy("n")).status, OpStatus::kMissing);
}

TEST_P(WaitingQueue, AFullQueueTakesNoMore) {
  const AcquireOp grant = things_.Create("42");
  std::vector<Waiter> all(kMaxQueueEntries);
  for (std::size_t i = 0; i < all.size(); ++i) Place(all[i], static_cast<int>(i));
  const AcquireOp late = Ask(ann_);
  EXPECT_EQ(late.status, OpStatus::kBusy);
  EXPECT_FALSE(late.queued);
  EXPECT_EQ(late.ahead, static_cast<int>(kMaxQueueEntries));
  Place(all.back(), static_cast<int>(kMaxQueueEntries) - 1);
  EXPECT_EQ(Leave(all.front()).status, OpStatus::kDone);
  Place(ann_, static_cast<int>(kMaxQueueEntries) - 1);
}

TEST_P(WaitingQueue, AWaiterForSharesLeavesAnEntryToo) {
  const Uuid share = FreshId();
  things_.Create("42", {}, {.id = share, .mode = LockMode::kShared});
  Place(ann_, 0);
  EXPECT_EQ(things_.Release("42", share, {.mode = LockMode::kShared}).status, OpStatus::kDone);
  const AcquireOp other = Ask(bob_);
  EXPECT_EQ(other.status, OpStatus::kBusy) << "the last share is gone, and it is another's turn";
  ExpectPassedOn(ann_, 2);
}

TEST_P(WaitingQueue, ListsShowWhoWaits) {
  things_.Create("42");
  Place(ann_, 0);
  Place(bob_, 1);
  const std::vector<LockRow> rows = things_.Locks();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().waiting, 2);
  EXPECT_EQ(rows.front().next.name, "ann");
}

TEST_P(WaitingQueue, AnAttemptTellsTheDocumentInWhichItLeftItsEntry) {
  const AcquireOp grant = things_.Create("42", {}, {.ttl = 10s});
  const AcquireOp first = Ask(ann_);
  ASSERT_TRUE(first.queued);
  EXPECT_EQ(first.version, grant.version);
  EXPECT_EQ(first.born, grant.born);
  clock().Advance(10s);
  const AcquireOp helper = Ask(bob_);
  ASSERT_TRUE(helper.queued);
  EXPECT_EQ(helper.version, grant.version + 1) << "after the grant that it made";
  ExpectPassedOn(ann_, helper.version);
}

/// What a hint tells of a grant is true. It may tell less.
TEST_P(WaitingQueue, AGrantFromTheQueueGivesAHint) {
  const AcquireOp grant = things_.Create("42");
  Place(ann_, 0);
  std::atomic<bool> told = false;
  std::mutex mutex;
  std::optional<GrantSeen> seen;
  const auto subscription = store().Watch(things_.collection(), [&](const LockHint& hint) {
    if (hint.hash && *hint.hash != Key("42").Hash()) return;
    const std::lock_guard guard(mutex);
    if (hint.grant) seen = hint.grant;
    told = true;
  });
  if (!subscription) GTEST_SKIP() << "this store gives no hints";
  const WriteOp release = things_.Release("42", grant, MakeBody({{"n", 2}}));
  for (int i = 0; i < 30'000 && !told; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(told);
  const std::lock_guard guard(mutex);
  if (!seen || !seen->body) return;
  EXPECT_EQ(seen->lock_id, ann_.id);
  EXPECT_EQ(seen->version, release.version);
  EXPECT_EQ(seen->born, grant.born);
  EXPECT_EQ(seen->body.json(), Json({{"n", 2}}));
}

/// The waiters of two stores, as two processes have them.
TEST_P(WaitingQueue, IsOneForAllProcesses) {
  if (!backend().open_another) GTEST_SKIP() << "this store belongs to one process";
  const auto other_store = backend().open_another();
  Client others = Open(*other_store, "things");
  const AcquireOp grant = things_.Create("42");
  const AcquireArgs theirs{.queue_for = kPlace};
  EXPECT_TRUE(others.Acquire("42", theirs).queued);
  Place(ann_, 1);
  things_.Release("42", grant);
  const AcquireOp passed = others.Acquire("42", theirs);
  ASSERT_EQ(passed.status, OpStatus::kDone);
  EXPECT_TRUE(passed.passed_on);
  EXPECT_EQ(others.Release("42", theirs.id).status, OpStatus::kDone);
  ExpectPassedOn(ann_, 3);
}

INSTANTIATE_TEST_SUITE_P(Stores, WaitingQueue, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
