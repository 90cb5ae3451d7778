#include "rules/acquire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "rules/shares.h"
#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// An attempt on some document.
class Attempt {
 public:
  explicit Attempt(LockMode mode, int limit = kMaxHolders) : op_(collection_, key_) {
    op_.request.grant.lock_id = kFresh;
    op_.request.grant.ttl = kTtl;
    op_.request.grant.mode = mode;
    op_.request.grant.max_holders = limit;
    op_.request.grant.owner = std::make_shared<const LockHolder>();
    op_.request.grant.group = "blue";
  }
  AcquireOp& op() { return op_; }
  OpStatus On(LockState& state, TimePoint now = kNow) {
    op_.status = OpStatus::kPending;
    op_.detail.reset();
    op_.result.created = op_.result.took_over = true;
    Acquire(op_, state, now);
    return op_.status;
  }

 private:
  Collection collection_{"orders", {}, kTtl};
  Key key_{"1"};
  AcquireOp op_;
};

/// The table in rules/acquire.h, said anew: when may this attempt have the lock, if nothing more
/// happens?
TimePoint GrantedFrom(const LockState& state, LockMode mode, std::size_t limit) {
  TimePoint from = std::max(kNow, state.closed_until);
  if (state.lock_id == kHolder) from = std::max(from, state.lease.End());
  if (state.lock_id != kSharedLockId || mode == LockMode::kExclusive) {
    for (const Share& share : state.shares) from = std::max(from, share.lease.End());
  } else {
    // One place has to be left; so as many of the latest as there are places stay.
    std::vector<TimePoint> ends;
    for (const Share& share : state.shares) ends.push_back(share.lease.End());
    std::sort(ends.begin(), ends.end());
    if (ends.size() >= limit) from = std::max(from, ends[ends.size() - limit]);
  }
  return from;
}

TEST(AcquireRules, AnExclusiveLockIsGrantedWhenNothingStandsInItsWayAndOnlyThen) {
  ForEachState([](const LockState& before) {
    LockState state = before;
    Attempt attempt(LockMode::kExclusive);
    const bool free = GrantedFrom(before, LockMode::kExclusive, 1) == kNow;
    ASSERT_EQ(attempt.On(state), free ? OpStatus::kDone : OpStatus::kBusy) << TextOf(before);
    if (!free) return;
    EXPECT_TRUE(state.IsHeldBy(kFresh));
    EXPECT_EQ(state.lease.End(), kNow + kTtl);
    EXPECT_EQ(state.fence, kVersion + 1);
    EXPECT_EQ(attempt.op().result.took_over, before.HasLockId()) << TextOf(before);
    EXPECT_FALSE(attempt.op().result.created);
    EXPECT_EQ(attempt.op().result.born, kBorn);
    EXPECT_EQ(attempt.op().detail, nullptr) << "nothing is told of who held it";
    EXPECT_EQ(state.granted, kNow);
    EXPECT_EQ(state.owner, attempt.op().request.grant.owner);
    EXPECT_EQ(state.group, "blue");
  });
}

TEST(AcquireRules, AShareIsGrantedWhenThereIsRoomAndOnlyThen) {
  for (const int limit : {1, 2, 3, 4}) {
    ForEachState([limit](const LockState& before) {
      LockState state = before;
      Attempt attempt(LockMode::kShared, limit);
      const auto places = static_cast<std::size_t>(limit);
      const bool room = GrantedFrom(before, LockMode::kShared, places) == kNow;
      ASSERT_EQ(attempt.On(state), room ? OpStatus::kDone : OpStatus::kBusy) << TextOf(before);
      Attempt question(LockMode::kShared, limit);
      EXPECT_EQ(Allows(question.op(), WhyNotAcquire(question.op(), before, kNow)), room)
          << TextOf(before);
      if (!room) return;
      const Share* const share = state.LiveShare(kFresh, kNow);
      ASSERT_NE(share, nullptr);
      EXPECT_TRUE(Same(share->lease, {kNow, kTtl}));
      EXPECT_EQ(share->granted, kNow);
      EXPECT_EQ(share->owner, attempt.op().request.grant.owner);
      EXPECT_EQ(share->group, "blue");
      EXPECT_EQ(share->fence, kVersion + 1);
      std::size_t live = 0;
      for (const Share& other : before.shares) {
        EXPECT_EQ(other.lease.IsLive(kNow), state.LiveShare(other.id, kNow) != nullptr);
        live += other.lease.IsLive(kNow) ? 1 : 0;
      }
      EXPECT_EQ(state.shares.size(), live + 1) << "those that are over are dropped";
      EXPECT_LE(state.shares.size(), places);
      EXPECT_EQ(attempt.op().result.took_over, before.lock_id == kHolder) << TextOf(before);
      EXPECT_FALSE(attempt.op().result.created);
      EXPECT_EQ(attempt.op().result.born, kBorn);
    });
  }
}

TEST(AcquireRules, TheLockEndsWithTheShareThatEndsLast) {
  for (const seconds ttl : {seconds(1), seconds(5), seconds(20)}) {
    ForEachState([ttl](const LockState& before) {
      LockState state = before;
      Attempt attempt(LockMode::kShared);
      attempt.op().request.grant.ttl = ttl;
      if (attempt.On(state) != OpStatus::kDone) return;
      EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
    });
  }
}

TEST(AcquireRules, BusyNamesTheHolderOfALiveLockOrMinHold) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    ForEachState([mode](const LockState& before) {
      LockState state = before;
      Attempt attempt(mode, 2);
      if (attempt.On(state) != OpStatus::kBusy) return;
      const bool live = before.IsLive(kNow);
      EXPECT_EQ(attempt.op().detail->holder.name, live ? before.Holder().name : "");
      const bool closed = before.IsClosed(kNow);
      EXPECT_EQ(attempt.op().detail->kept_closed, !live && closed) << TextOf(before);
    });
  }
}

TEST(AcquireRules, AGrantRaisesTheVersionByOneAndARefusalLeavesTheLockAlone) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    ForEachState([mode](const LockState& before) {
      LockState state = before;
      Attempt attempt(mode, 2);
      const bool granted = attempt.On(state) == OpStatus::kDone;
      EXPECT_EQ(state.version, granted ? kVersion + 1 : kVersion);
      EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
      EXPECT_EQ(state.released, kMark);
      if (!granted) {
        EXPECT_TRUE(Same(before, state)) << TextOf(before);
      }
      if (granted) {
        EXPECT_EQ(attempt.op().result.version, state.version);
      }
    });
  }
}

TEST(AcquireRules, BusyTellsWhenTheLockIsToBeHadIfNothingMoreHappens) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    ForEachState([mode](const LockState& before) {
      LockState state = before;
      Attempt attempt(mode, 2);
      TimePoint now = kNow;
      int looks = 0;
      while (attempt.On(state, now) == OpStatus::kBusy && ++looks <= 1) {
        const milliseconds left = attempt.op().detail->remaining.value();
        ASSERT_GT(left.count(), 0) << TextOf(before);
        LockState sooner = before;
        EXPECT_EQ(Attempt(mode, 2).On(sooner, now + left - milliseconds(1)), OpStatus::kBusy)
            << TextOf(before);
        now += left;
      }
      EXPECT_EQ(attempt.op().status, OpStatus::kDone) << TextOf(before);
      EXPECT_EQ(now, GrantedFrom(before, mode, 2)) << TextOf(before);
    });
  }
}

TEST(AcquireRules, MinHoldIsProlongedAndNeverShortened) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    for (const milliseconds hold : {milliseconds(0), milliseconds(1), milliseconds(90'000)}) {
      ForEachState([&](const LockState& before) {
        LockState state = before;
        Attempt attempt(mode);
        attempt.op().request.grant.min_hold = hold;
        if (attempt.On(state) != OpStatus::kDone) return;
        const TimePoint asked = hold.count() > 0 ? kNow + hold : TimePoint{};
        EXPECT_EQ(state.closed_until, std::max(before.closed_until, asked)) << TextOf(before);
      });
    }
  }
}

TEST(AcquireRules, AnIdThatALiveShareHasIsRefused) {
  ForEachState([](const LockState& before) {
    if (before.shares.empty() || GrantedFrom(before, LockMode::kShared, kMaxHolders) != kNow)
      return;
    LockState state = before;
    Attempt attempt(LockMode::kShared);
    attempt.op().request.grant.lock_id = kShares[0];
    const bool live = before.shares.front().lease.IsLive(kNow);
    EXPECT_EQ(attempt.On(state), live ? OpStatus::kFailed : OpStatus::kDone) << TextOf(before);
    if (live) {
      EXPECT_TRUE(Same(before, state));
    }
  });
}

TEST(AcquireRules, ALockOfNoSharesIsOver) {
  LockState state;
  state.lock_id = kSharedLockId;
  state.lease = {kNow, kTtl};
  Cover(state, kNow);
  EXPECT_EQ(state.lease.End(), kNow);
}

TEST(AcquireRules, ANewDocumentBeginsAtVersionOne) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    Attempt attempt(mode);
    LockState state;
    attempt.op().result.took_over = true;
    AcquireNew(attempt.op(), state, kNow);
    EXPECT_EQ(attempt.op().status, OpStatus::kDone);
    EXPECT_TRUE(attempt.op().result.created);
    EXPECT_FALSE(attempt.op().result.took_over);
    EXPECT_EQ(attempt.op().result.version, 1);
    EXPECT_EQ(attempt.op().result.born, kFresh);
    EXPECT_EQ(state.born, kFresh);
    EXPECT_TRUE(state.IsLive(kNow));
    EXPECT_EQ(FaultOfState(state), "");
  }
}

}  // namespace
}  // namespace doclock::rules::testing
