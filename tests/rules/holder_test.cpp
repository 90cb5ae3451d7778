#include "rules/holder.h"

#include <gtest/gtest.h>

#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

using std::chrono::seconds;

class HolderRules : public ::testing::Test {
 protected:
  Collection collection_{"orders", {}, kTtl};
  Key key_{"1"};
};

const Uuid kIds[] = {Uuid{}, kSharedLockId, kHolder, kOther, kShares[0], kShares[1], kShares[2]};

TEST_F(HolderRules, ARenewalIsOfALiveLeaseAndNeverEndsItSooner) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    for (const Uuid& id : kIds) {
      for (const seconds ttl : {seconds(1), seconds(30)}) {
        ForEachState([&](const LockState& before) {
          LockState state = before;
          RenewOp op(collection_, key_);
          op.request.lock_id = id;
          op.request.ttl = ttl;
          op.request.mode = mode;
          Renew(op, state, kNow);
          Lease lease = before.lease;
          bool mine = id == kHolder && before.lock_id == kHolder;
          if (mode == LockMode::kShared) {
            mine = before.LiveShare(id, kNow) != nullptr;
            if (mine) lease = before.LiveShare(id, kNow)->lease;
          }
          const bool renewed = mine && lease.IsLive(kNow);
          EXPECT_EQ(MayRenew(op, before, kNow), renewed) << TextOf(before);
          ASSERT_EQ(op.status, renewed ? OpStatus::kDone : OpStatus::kLost) << TextOf(before);
          EXPECT_EQ(state.version, kVersion) << "a renewal is no write";
          EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
          if (!renewed) {
            EXPECT_TRUE(Same(before, state)) << TextOf(before);
            return;
          }
          const Lease& now =
              mode == LockMode::kShared ? state.LiveShare(id, kNow)->lease : state.lease;
          EXPECT_EQ(now.End(), std::max(lease.End(), kNow + ttl)) << TextOf(before);
        });
      }
    }
  }
}

TEST_F(HolderRules, ARenewalAfterTheClockWasSetBackIsNoLongerThanWhatStoresTake) {
  ForEachState([&](const LockState& before) {
    for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
      LockState state = before;
      RenewOp op(collection_, key_);
      op.request.lock_id = mode == LockMode::kShared ? kShares[0] : kHolder;
      op.request.ttl = kTtl;
      op.request.mode = mode;
      if (!MayRenew(op, state, kNow)) continue;
      const TimePoint back = kNow - std::chrono::hours(24 * 400);
      Renew(op, state, back);
      const Lease& lease = mode == LockMode::kShared
                               ? state.LiveShare(op.request.lock_id, back)->lease
                               : state.lease;
      EXPECT_EQ(lease, (Lease{back, kLongestLease, lease.instance})) << TextOf(before);
      EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
    }
  });
}

TEST_F(HolderRules, AWriteGoesByIdAndVersionAndNeverByTime) {
  for (const Uuid& id : kIds) {
    for (const std::int64_t expected : {kAnyVersion, kVersion, kVersion - 1, kVersion + 1}) {
      ForEachState([&](const LockState& before) {
        WriteOp op(collection_, key_);
        op.request.lock_id = id;
        op.request.expected = expected;
        const bool mine = id == kHolder && before.lock_id == kHolder &&
                          (expected == kAnyVersion || expected == kVersion);
        ASSERT_EQ(Allows(op, WhyNotWrite(op, before, kNow)), mine) << TextOf(before);
        EXPECT_EQ(op.status, mine ? OpStatus::kPending : OpStatus::kLost);
      });
    }
  }
}

TEST_F(HolderRules, AReleaseClearsTheLockAndLeavesItsMark) {
  ForEachState([&](const LockState& before) {
    if (before.lock_id != kHolder) return;
    for (const Uuid& mark : {Uuid{}, kOther}) {
      LockState state = before;
      WriteOp op(collection_, key_);
      op.request.lock_id = kHolder;
      op.request.release_id = mark;
      Write(op, state, kNow);
      EXPECT_EQ(op.status, OpStatus::kDone);
      EXPECT_EQ(op.result.version, kVersion + 1);
      EXPECT_EQ(state.version, kVersion + 1);
      EXPECT_FALSE(state.HasLockId());
      EXPECT_EQ(state.released, mark.is_nil() ? kHolder : kOther);
      EXPECT_EQ(state.closed_until, before.closed_until) << "min_hold outlives the release";
      EXPECT_TRUE(Frees(op, state));
    }
  });
}

TEST_F(HolderRules, AHandOverIsReleaseAndGrantInOne) {
  GrantRequest next;
  next.lock_id = kFresh;
  next.ttl = seconds(20);
  for (const seconds hold : {seconds(0), seconds(1), seconds(90)}) {
    next.min_hold = hold;
    ForEachState([&](const LockState& before) {
      if (before.lock_id != kHolder) return;
      LockState state = before;
      WriteOp op(collection_, key_);
      op.request.lock_id = kHolder;
      op.request.next = &next;
      Write(op, state, kNow);
      EXPECT_EQ(state.version, kVersion + 1) << "raised once for both";
      EXPECT_TRUE(state.IsHeldBy(kFresh));
      EXPECT_EQ(state.lease.End(), kNow + seconds(20));
      EXPECT_EQ(state.released, kHolder);
      const TimePoint asked = hold.count() > 0 ? kNow + hold : TimePoint{};
      EXPECT_EQ(state.closed_until, std::max(before.closed_until, asked)) << TextOf(before);
      EXPECT_FALSE(Frees(op, state));
    });
  }
}

TEST_F(HolderRules, ACheckpointStartsTheLeaseAnewAndKeepsTheLock) {
  ForEachState([&](const LockState& before) {
    if (before.lock_id != kHolder) return;
    LockState state = before;
    WriteOp op(collection_, key_);
    op.request.write = WriteKind::kCheckpoint;
    op.request.lock_id = kHolder;
    op.request.ttl = seconds(2);
    Write(op, state, kNow);
    EXPECT_EQ(state.version, kVersion + 1);
    EXPECT_TRUE(state.IsHeldBy(kHolder));
    EXPECT_EQ(state.lease.End(), kNow + seconds(2)) << "a checkpoint may shorten the lease";
    EXPECT_EQ(state.released, kMark);
    EXPECT_FALSE(Frees(op, state));
  });
}

TEST_F(HolderRules, AnErasureOnlySetsItsVersion) {
  ForEachState([&](const LockState& before) {
    if (before.lock_id != kHolder) return;
    LockState state = before;
    WriteOp op(collection_, key_);
    op.request.write = WriteKind::kErase;
    op.request.lock_id = kHolder;
    Write(op, state, kNow);
    EXPECT_EQ(op.status, OpStatus::kDone);
    EXPECT_EQ(op.result.version, kVersion + 1);
    state.version = kVersion;
    EXPECT_TRUE(Same(before, state)) << TextOf(before);
  });
}

TEST_F(HolderRules, AShareIsReleasedWhileItIsLiveAndTheLastOneFreesTheLock) {
  for (const Uuid& id : kShares) {
    ForEachState([&](const LockState& before) {
      LockState state = before;
      WriteOp op(collection_, key_);
      op.request.mode = LockMode::kShared;
      op.request.lock_id = id;
      const bool mine = before.LiveShare(id, kNow) != nullptr;
      ASSERT_EQ(Allows(op, WhyNotWrite(op, before, kNow)), mine) << TextOf(before);
      if (!mine) return;
      Write(op, state, kNow);
      EXPECT_EQ(state.version, kVersion) << "nothing was written";
      EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
      bool others = false;
      for (const Share& share : before.shares) {
        others = others || (share.id != id && share.lease.IsLive(kNow));
      }
      EXPECT_EQ(state.IsShared(), others) << TextOf(before);
      EXPECT_EQ(state.released, others ? kMark : id) << TextOf(before);
      EXPECT_EQ(state.LiveShare(id, kNow), nullptr);
      if (before.shares.size() == 1) {
        EXPECT_TRUE(Same(before.lease, state.lease)) << "from its end on, the document is free";
      }
    });
  }
}

TEST_F(HolderRules, ANoteOfOneThatEndsAShareRaisesTheVersion) {
  ForEachState([&](const LockState& before) {
    if (before.LiveShare(kShares[0], kNow) == nullptr) return;
    LockState state = before;
    WriteOp op(collection_, key_);
    op.request.mode = LockMode::kShared;
    op.request.lock_id = kShares[0];
    op.request.body = Body::FromJson({{"note", 1}});
    op.request.merge = true;
    ASSERT_TRUE(Allows(op, WhyNotWrite(op, before, kNow)));
    Write(op, state, kNow);
    EXPECT_EQ(op.result.version, kVersion + 1);
    EXPECT_EQ(state.version, kVersion + 1);
  });
}

}  // namespace
}  // namespace doclock::rules::testing
