#include "rules/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "rules/states.h"

namespace doclock::rules::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kInstance = 9;

/// The entries that count, in their order.
std::vector<QueueEntry> LiveOf(const LockState& state, TimePoint now = kNow) {
  std::vector<QueueEntry> live;
  std::copy_if(state.queue.begin(), state.queue.end(), std::back_inserter(live),
               [&](const QueueEntry& entry) { return now < entry.until; });
  return live;
}

QueueEntry WriterEntry(const Uuid& id, TimePoint until) {
  QueueEntry entry;
  entry.id = id;
  entry.until = until;
  return entry;
}

/// Who frees the lock, or finds it free, passes it on: to `live.front()`.
bool PassesOn(const LockState& before, const std::vector<QueueEntry>& live) {
  return !live.empty() && live.front().mode == LockMode::kExclusive && !before.IsClosed(kNow);
}

/// Whom an attempt of another may help.
bool Helps(const LockState& before) {
  return before.IsFree(kNow) && PassesOn(before, LiveOf(before));
}

std::size_t CountLive(const std::vector<Share>& shares) {
  return static_cast<std::size_t>(std::count_if(
      shares.begin(), shares.end(), [](const Share& share) { return share.lease.IsLive(kNow); }));
}

/// The same ones wait, in the same order.
bool SameOrder(const std::vector<QueueEntry>& a, const std::vector<QueueEntry>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const QueueEntry& x, const QueueEntry& y) { return x.id == y.id; });
}

/// The lock has passed to `first`, who was the first of the queue, and the rest still waits.
void ExpectPassedOn(const LockState& before, const LockState& state, const QueueEntry& first) {
  EXPECT_TRUE(state.IsHeldBy(first.id)) << TextOf(before);
  EXPECT_EQ(state.version, kVersion + 1) << "raised once for both";
  EXPECT_EQ(state.fence, kVersion + 1);
  EXPECT_EQ(state.lease.since, kNow);
  EXPECT_EQ(state.lease.ttl, std::min<milliseconds>(first.ttl, seconds(5)));
  EXPECT_EQ(state.granted, kNow);
  EXPECT_EQ(state.owner, first.owner);
  EXPECT_EQ(state.group, first.group);
  const TimePoint asked = first.min_hold.count() > 0 ? kNow + first.min_hold : TimePoint{};
  EXPECT_EQ(state.closed_until, std::max(before.closed_until, asked)) << TextOf(before);
  EXPECT_TRUE(state.shares.empty());
  EXPECT_TRUE(state.passed_on.done);
  EXPECT_EQ(state.passed_on.instance, first.instance);
  EXPECT_EQ(state.passed_on.detached, first.detached);
  std::vector<QueueEntry> rest = LiveOf(before);
  rest.erase(rest.begin());
  ASSERT_GE(state.queue.size(), rest.size());
  EXPECT_TRUE(SameOrder(
      rest, {state.queue.begin(), state.queue.begin() + static_cast<std::ptrdiff_t>(rest.size())}))
      << TextOf(before);
  EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
}

class QueueRules : public ::testing::Test {
 protected:
  AcquireOp Attempt(const Uuid& id, seconds queue_for) {
    AcquireOp op(collection_, key_);
    op.request.grant.lock_id = id;
    op.request.grant.ttl = kTtl;
    op.request.grant.queue_for = queue_for;
    op.request.grant.group = "blue";
    op.request.grant.min_hold = seconds(4);
    op.request.grant.detached = true;
    op.request.grant.owner = owner_;
    op.result.queued = true;
    op.result.ahead = -1;
    return op;
  }
  AcquireOp Share(const Uuid& id, seconds queue_for, int limit) {
    AcquireOp op = Attempt(id, queue_for);
    op.request.grant.mode = LockMode::kShared;
    op.request.grant.max_holders = limit;
    return op;
  }
  WriteOp Write(WriteKind kind, const Uuid& id) {
    WriteOp op(collection_, key_);
    op.request.write = kind;
    op.request.lock_id = id;
    return op;
  }
  Collection collection_{"orders", {}, kTtl};
  Key key_{"1"};
  OwnerPtr owner_ = std::make_shared<const LockHolder>();
};

TEST_F(QueueRules, ARefusedWaiterPlacesItsEntryLast) {
  ForEachQueuedState([&](const LockState& before) {
    if (before.IsFree(kNow) && LiveOf(before).empty()) return;
    LockState state = before;
    AcquireOp op = Attempt(kFresh, seconds(3));
    Acquire(op, state, kNow, kInstance);
    ASSERT_EQ(op.status, OpStatus::kBusy) << TextOf(before);
    ASSERT_TRUE(op.detail);
    EXPECT_TRUE(op.result.queued);
    const std::vector<QueueEntry> live = LiveOf(before);
    const std::size_t helped = Helps(before) ? 1 : 0;
    ASSERT_EQ(state.queue.size(), live.size() - helped + 1) << "those that are over are dropped";
    EXPECT_EQ(op.result.ahead, static_cast<int>(live.size() - helped));
    const QueueEntry& mine = state.queue.back();
    EXPECT_EQ(mine.id, kFresh);
    EXPECT_EQ(mine.until, kNow + seconds(3));
    EXPECT_EQ(mine.ttl, kTtl);
    EXPECT_EQ(mine.min_hold, seconds(4));
    EXPECT_EQ(mine.owner, owner_);
    EXPECT_EQ(mine.group, "blue");
    EXPECT_TRUE(mine.detached);
    EXPECT_EQ(mine.mode, LockMode::kExclusive);
    EXPECT_EQ(mine.instance, kInstance);
    EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
  });
}

TEST_F(QueueRules, AWaiterThatAsksAgainKeepsItsPlace) {
  ForEachQueuedState([&](const LockState& before) {
    for (const Uuid& id : kEntries) {
      LockState state = before;
      AcquireOp op = Attempt(id, seconds(3));
      Acquire(op, state, kNow, kInstance);
      const std::vector<QueueEntry> live = LiveOf(before);
      const auto mine = std::find_if(live.begin(), live.end(),
                                     [&](const QueueEntry& entry) { return entry.id == id; });
      const std::size_t helped = Helps(before) ? 1 : 0;
      if (mine == live.end()) {
        if (op.status != OpStatus::kBusy) continue;
        EXPECT_EQ(op.result.ahead, static_cast<int>(live.size() - helped))
            << "its old place is over";
        continue;
      }
      const bool first = mine == live.begin();
      ASSERT_EQ(op.status, first && before.IsFree(kNow) ? OpStatus::kDone : OpStatus::kBusy)
          << TextOf(before);
      if (op.status == OpStatus::kDone) {
        EXPECT_TRUE(state.IsHeldBy(id));
        EXPECT_FALSE(op.result.passed_on) << "it took the lock itself";
        EXPECT_EQ(state.lease.ttl, kTtl) << "so the lease has its whole length";
        EXPECT_EQ(LiveOf(state).size(), live.size() - 1);
        continue;
      }
      EXPECT_TRUE(SameOrder(state.queue, {live.begin() + static_cast<int>(helped), live.end()}))
          << TextOf(before);
      EXPECT_EQ(op.result.ahead, mine - live.begin() - static_cast<int>(helped));
    }
  });
}

TEST_F(QueueRules, AnAttemptHelpsTheFirstAndPassesNobody) {
  for (const seconds queue_for : {seconds(0), seconds(3)}) {
    ForEachQueuedState([&](const LockState& before) {
      if (!Helps(before)) return;
      LockState state = before;
      AcquireOp op = Attempt(kFresh, queue_for);
      EXPECT_FALSE(Allows(op, WhyNotAcquire(op, before, kNow))) << TextOf(before);
      EXPECT_FALSE(op.detail->remaining) << "it is granted the lock at once";
      Acquire(op, state, kNow, kInstance);
      ASSERT_EQ(op.status, OpStatus::kBusy) << TextOf(before);
      ExpectPassedOn(before, state, LiveOf(before).front());
      EXPECT_EQ(op.result.queued, queue_for.count() > 0);
      EXPECT_EQ(HasEntry(state, kFresh), queue_for.count() > 0);
      EXPECT_EQ(op.detail->remaining,
                std::max(state.lease.Left(kNow), RoundUp(state.closed_until - kNow)));
    });
  }
}

/// A share comes for its turn itself.
TEST_F(QueueRules, AnAttemptDoesNotPassAShareThatIsFirst) {
  for (const seconds queue_for : {seconds(0), seconds(3)}) {
    ForEachQueuedState([&](const LockState& before) {
      const std::vector<QueueEntry> live = LiveOf(before);
      if (!before.IsFree(kNow) || live.empty() || Helps(before)) return;
      LockState state = before;
      AcquireOp op = Attempt(kFresh, queue_for);
      EXPECT_FALSE(Allows(op, WhyNotAcquire(op, before, kNow))) << TextOf(before);
      Acquire(op, state, kNow, kInstance);
      ASSERT_EQ(op.status, OpStatus::kBusy) << TextOf(before);
      EXPECT_EQ(op.detail->remaining, live.front().until - kNow);
      EXPECT_EQ(op.result.queued, queue_for.count() > 0);
      EXPECT_FALSE(state.passed_on.done);
      state.queue = before.queue;
      EXPECT_TRUE(Same(before, state)) << "free, and of no higher version: " << TextOf(before);
    });
  }
}

TEST_F(QueueRules, AnAttemptThatDoesNotWaitLeavesNoEntry) {
  ForEachQueuedState([&](const LockState& before) {
    if (before.IsFree(kNow)) return;
    LockState state = before;
    AcquireOp op = Attempt(kFresh, seconds(0));
    Acquire(op, state, kNow, kInstance);
    ASSERT_EQ(op.status, OpStatus::kBusy);
    EXPECT_FALSE(op.result.queued);
    EXPECT_EQ(op.result.ahead, static_cast<int>(LiveOf(before).size())) << "told all the same";
    state.queue = before.queue;  // but for those that are over
    EXPECT_TRUE(Same(before, state)) << TextOf(before);
  });
}

TEST_F(QueueRules, AMillisecondCounts) {
  LockState state;
  state.lock_id = kHolder;
  state.lease = {kNow, kTtl};
  AcquireOp op = Attempt(kFresh, seconds(0));
  op.request.grant.queue_for = op.request.grant.min_hold = milliseconds(1);
  Acquire(op, state, kNow, kInstance);
  ASSERT_TRUE(op.result.queued);
  state.lock_id = {};
  PassOn(state, kNow);
  ASSERT_TRUE(state.IsHeldBy(kFresh));
  EXPECT_EQ(state.closed_until, kNow + milliseconds(1));
}

/// A clock that was wrong, or another program, wrote it.
TEST_F(QueueRules, AnEntryThatEndsTooLateCountsForNothing) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    for (const bool too_late : {false, true}) {
      LockState state;
      QueueEntry entry = WriterEntry(kEntries[0], kNow + kLongestEntry);
      if (too_late) entry.until += milliseconds(1);
      entry.ttl = kTtl;
      entry.mode = mode;
      state.queue.push_back(entry);
      AcquireOp op = Attempt(kFresh, seconds(0));
      Acquire(op, state, kNow, kInstance);
      EXPECT_EQ(op.status, too_late ? OpStatus::kDone : OpStatus::kBusy);
    }
  }
  QueueEntry entry = WriterEntry(kEntries[0], TimePoint::max());
  EXPECT_FALSE(entry.IsLive(kNow));
}

TEST_F(QueueRules, AReleaseDropsTheEntriesThatAreOver) {
  LockState state;
  state.lock_id = kHolder;
  state.lease = {kNow, kTtl};
  state.queue = {WriterEntry(kEntries[0], kNow)};
  WriteOp op = Write(WriteKind::kRelease, kHolder);
  rules::Write(op, state, kNow);
  EXPECT_TRUE(state.queue.empty());
}

TEST_F(QueueRules, AnAttemptThatHoldsTheLockAlreadyChangesNothing) {
  for (const seconds queue_for : {seconds(0), seconds(3)}) {
    ForEachQueuedState([&](const LockState& before) {
      if (before.lock_id != kHolder || !before.IsLive(kNow)) return;
      LockState state = before;
      AcquireOp op = Attempt(kHolder, queue_for);
      EXPECT_EQ(Allows(op, WhyNotAcquire(op, before, kNow)), queue_for.count() > 0);
      Acquire(op, state, kNow, kInstance);
      if (queue_for.count() == 0) {
        EXPECT_EQ(op.status, OpStatus::kBusy) << "it has left no entry to be granted";
        return;
      }
      ASSERT_EQ(op.status, OpStatus::kDone) << TextOf(before);
      EXPECT_TRUE(op.result.passed_on);
      EXPECT_FALSE(op.result.took_over);
      EXPECT_EQ(op.result.version, kVersion);
      EXPECT_EQ(op.result.born, kBorn);
      EXPECT_TRUE(Same(before, state)) << TextOf(before);
    });
  }
}

TEST_F(QueueRules, AReleasePassesTheLockOnToTheFirst) {
  ForEachQueuedState([&](const LockState& before) {
    if (before.lock_id != kHolder) return;
    for (const Uuid& mark : {Uuid{}, kOther}) {
      LockState state = before;
      WriteOp op = Write(WriteKind::kRelease, kHolder);
      op.request.release_id = mark;
      ASSERT_TRUE(Allows(op, WhyNotWrite(op, state, kNow)));
      rules::Write(op, state, kNow);
      EXPECT_EQ(op.result.version, kVersion + 1);
      EXPECT_EQ(state.released, op.request.ReleaseId()) << "doubt is settled as ever";
      const std::vector<QueueEntry> live = LiveOf(before);
      if (!PassesOn(before, live)) {
        EXPECT_FALSE(state.HasLockId()) << TextOf(before);
        EXPECT_FALSE(state.passed_on.done);
        EXPECT_TRUE(Frees(op, state));
        EXPECT_TRUE(SameOrder(LiveOf(state), live)) << "they wait for min_hold, or come themselves";
      } else {
        ExpectPassedOn(before, state, live.front());
        EXPECT_FALSE(Frees(op, state));
      }
    }
  });
}

TEST_F(QueueRules, AHandOverLeavesTheQueueAndRemovesItsOwnEntry) {
  ForEachQueuedState([&](const LockState& before) {
    if (before.lock_id != kHolder) return;
    for (const Uuid& entry : {Uuid{}, kEntries[0], kEntries[1], kEntries[2]}) {
      LockState state = before;
      GrantRequest next;
      next.lock_id = kFresh;
      next.ttl = kTtl;
      next.entry = entry;
      WriteOp op = Write(WriteKind::kRelease, kHolder);
      op.request.next = &next;
      rules::Write(op, state, kNow);
      EXPECT_TRUE(state.IsHeldBy(kFresh));
      EXPECT_EQ(state.lease.ttl, kTtl) << "a hand-over is no grant from the queue";
      EXPECT_FALSE(state.passed_on.done);
      std::vector<QueueEntry> rest = before.queue;
      std::erase_if(rest, [&](const QueueEntry& one) { return one.id == entry; });
      EXPECT_TRUE(SameOrder(state.queue, rest)) << TextOf(before);
    }
  });
}

/// By a release, or because its waiter leaves. The writer's fence is higher than that of each
/// share.
TEST_F(QueueRules, TheLastShareThatEndsPassesTheLockOn) {
  const Body note = Body::FromJson({{"note", 1}});
  for (const WriteKind kind : {WriteKind::kRelease, WriteKind::kLeave}) {
    for (const bool with_note : {false, true}) {
      if (with_note && kind == WriteKind::kLeave) continue;
      ForEachQueuedState([&](const LockState& before) {
        if (before.LiveShare(kShares[0], kNow) == nullptr) return;
        LockState state = before;
        WriteOp op = Write(kind, kShares[0]);
        if (kind == WriteKind::kRelease) op.request.mode = LockMode::kShared;
        if (with_note) op.request.body = note;
        ASSERT_TRUE(Allows(op, WhyNotWrite(op, state, kNow))) << TextOf(before);
        rules::Write(op, state, kNow);
        EXPECT_EQ(op.status, OpStatus::kDone);
        EXPECT_EQ(op.result.version, state.version);
        EXPECT_EQ(state.LiveShare(kShares[0], kNow), nullptr);
        const std::vector<QueueEntry> live = LiveOf(before);
        const bool last = CountLive(before.shares) == 1;
        if (last && PassesOn(before, live)) {
          ExpectPassedOn(before, state, live.front());
          EXPECT_FALSE(Frees(op, state));
          EXPECT_TRUE(ConcernsWaiters(op, state));
          EXPECT_EQ(state.released, kShares[0]);
          return;
        }
        EXPECT_FALSE(state.passed_on.done);
        EXPECT_EQ(state.HasLockId(), !last) << TextOf(before);
        EXPECT_EQ(state.version, with_note ? kVersion + 1 : kVersion);
        EXPECT_TRUE(SameOrder(LiveOf(state), live));
        EXPECT_TRUE(Frees(op, state));
        EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
      });
    }
  }
}

TEST_F(QueueRules, AWaiterLeavesTheQueueOrGivesUpTheLock) {
  for (const Uuid& id : {kHolder, kFresh, kEntries[0], kEntries[1], kEntries[2]}) {
    ForEachQueuedState([&](const LockState& before) {
      LockState state = before;
      WriteOp op = Write(WriteKind::kLeave, id);
      const bool holds = before.lock_id == id;
      const bool waits = HasEntry(before, id);
      ASSERT_EQ(Allows(op, WhyNotWrite(op, state, kNow)), holds || waits) << TextOf(before);
      if (!holds && !waits) {
        EXPECT_EQ(op.status, OpStatus::kLost);
        return;
      }
      rules::Write(op, state, kNow);
      EXPECT_EQ(op.status, OpStatus::kDone);
      EXPECT_EQ(op.result.version, state.version);
      EXPECT_FALSE(HasEntry(state, id));
      EXPECT_NE(state.lock_id, id);
      LockState left = before;
      RemoveEntry(left, id);
      const std::vector<QueueEntry> live = LiveOf(left);
      const bool exclusive = !live.empty() && live.front().mode == LockMode::kExclusive;
      if (holds && PassesOn(before, live)) {
        ExpectPassedOn(left, state, live.front());
        EXPECT_FALSE(Frees(op, state));
      } else if (holds) {
        EXPECT_EQ(state.version, kVersion + 1);
        EXPECT_TRUE(Frees(op, state));
      } else if (before.IsFree(kNow) && exclusive) {
        ExpectPassedOn(left, state, live.front());
      } else {
        EXPECT_EQ(state.queue.size(), live.size());
        EXPECT_EQ(Frees(op, state), !before.HasLockId() || before.IsShared())
            << "others may share now that it has left";
        state.queue = before.queue;
        EXPECT_TRUE(Same(before, state)) << "and the lock is as it was: " << TextOf(before);
      }
    });
  }
}

TEST_F(QueueRules, AWriteConcernsWaitersIfItFreesTheLockOrGrantsItToOne) {
  ForEachQueuedState([&](const LockState& before) {
    if (before.lock_id != kHolder) return;
    GrantRequest next;
    next.lock_id = kFresh;
    next.ttl = kTtl;
    const auto concerns_waiters = [&](WriteKind kind, const Uuid& id, const GrantRequest* grant) {
      LockState state = before;
      WriteOp op = Write(kind, id);
      op.request.next = grant;
      rules::Write(op, state, kNow);
      return ConcernsWaiters(op, state);
    };
    EXPECT_TRUE(concerns_waiters(WriteKind::kRelease, kHolder, nullptr)) << TextOf(before);
    EXPECT_TRUE(concerns_waiters(WriteKind::kErase, kHolder, nullptr));
    EXPECT_TRUE(concerns_waiters(WriteKind::kLeave, kHolder, nullptr)) << TextOf(before);
    EXPECT_FALSE(concerns_waiters(WriteKind::kCheckpoint, kHolder, nullptr));
    EXPECT_FALSE(concerns_waiters(WriteKind::kRelease, kHolder, &next)) << "a hand-over";
    if (before.IsFree(kNow)) return;
    for (const QueueEntry& entry : before.queue) {
      EXPECT_FALSE(concerns_waiters(WriteKind::kLeave, entry.id, nullptr)) << "it is still held";
    }
  });
}

TEST_F(QueueRules, ASaveThatClearsALockPassesItOn) {
  ForEachQueuedState([&](const LockState& before) {
    for (const SaveKind kind : {SaveKind::kReplace, SaveKind::kErase}) {
      SaveOp op(collection_, key_);
      op.request.save = kind;
      op.request.expected = kVersion;
      op.request.born = kBorn;
      op.request.write_id = kFresh;
      if (!Allows(op, WhyNotSave(op, &before, kNow))) continue;
      LockState state = before;
      const bool concerns_waiters = Save(op, state, kNow);
      EXPECT_EQ(concerns_waiters, before.HasLockId() || state.HasLockId()) << TextOf(before);
      EXPECT_EQ(op.result.version, kVersion + 1);
      EXPECT_EQ(state.version, kVersion + 1);
      EXPECT_EQ(state.released, kFresh);
      const std::vector<QueueEntry> live = LiveOf(before);
      if (kind == SaveKind::kErase || !PassesOn(before, live)) {
        EXPECT_FALSE(state.HasLockId()) << TextOf(before);
        EXPECT_FALSE(state.passed_on.done);
      } else {
        ExpectPassedOn(before, state, live.front());
      }
    }
  });
}

TEST_F(QueueRules, ASearchTakesAFreeLockThatOthersDoNotWaitFor) {
  ForEachQueuedState([&](const LockState& before) {
    EXPECT_EQ(MayTakeNext(before, kNow), before.IsFree(kNow) && LiveOf(before).empty())
        << TextOf(before);
    if (!MayTakeNext(before, kNow)) return;
    LockState state = before;
    AcquireOp op = Attempt(kFresh, seconds(0));
    Acquire(op, state, kNow, kInstance);
    EXPECT_EQ(op.status, OpStatus::kDone) << "the attempt agrees: " << TextOf(before);
  });
}

TEST_F(QueueRules, APurgeLeavesALockThatOthersWaitFor) {
  ForEachQueuedState([&](const LockState& before) {
    const bool over = before.HasLockId() && !before.IsLive(kNow);
    ASSERT_EQ(IsPurgeable(before, kNow), over && LiveOf(before).empty()) << TextOf(before);
    if (!IsPurgeable(before, kNow)) return;
    LockState state = before;
    Purge(state);
    EXPECT_FALSE(state.HasLockId());
    EXPECT_TRUE(state.queue.empty());
  });
}

TEST_F(QueueRules, AShareIsGrantedUnlessItPassesAWriterOrTakesTheRoomOfOthersBeforeIt) {
  for (const Uuid& id : {kFresh, kEntries[0], kEntries[1], kEntries[2]}) {
    for (const int limit : {1, 3}) {
      ForEachQueuedState([&](const LockState& before) {
        const std::vector<QueueEntry> live = LiveOf(before);
        const auto mine = std::find_if(live.begin(), live.end(),
                                       [&](const QueueEntry& entry) { return entry.id == id; });
        const auto sharers = std::count_if(live.begin(), mine, [](const QueueEntry& entry) {
          return entry.mode == LockMode::kShared;
        });
        const bool room = static_cast<int>(CountLive(before.shares) + sharers) < limit;
        const bool held = before.lock_id == kHolder && before.IsLive(kNow);
        const bool passes = sharers < mine - live.begin();
        LockState state = before;
        AcquireOp op = Share(id, seconds(3), limit);
        const bool granted = room && !held && !passes && !before.IsClosed(kNow);
        ASSERT_EQ(Allows(op, WhyNotAcquire(op, before, kNow)), granted) << TextOf(before);
        Acquire(op, state, kNow, kInstance);
        ASSERT_EQ(op.status, granted ? OpStatus::kDone : OpStatus::kBusy) << TextOf(before);
        EXPECT_EQ(FaultOfState(state), "") << TextOf(before);
        if (!granted) {
          EXPECT_GT(op.detail->remaining.value().count(), 0) << TextOf(before);
          return;
        }
        EXPECT_FALSE(op.result.passed_on);
        EXPECT_EQ(state.version, kVersion + 1);
        EXPECT_NE(state.LiveShare(id, kNow), nullptr);
        std::vector<QueueEntry> rest = before.queue;
        std::erase_if(rest, [&](const QueueEntry& one) { return one.id == id; });
        EXPECT_TRUE(SameOrder(state.queue, rest)) << TextOf(before);
      });
    }
  }
}

TEST_F(QueueRules, ARefusedShareWaitsInTheQueueIfItAsksTo) {
  for (const Uuid& id : {kFresh, kEntries[1]}) {
    for (const seconds queue_for : {seconds(0), seconds(3)}) {
      ForEachQueuedState([&](const LockState& before) {
        LockState state = before;
        AcquireOp op = Share(id, queue_for, 2);
        Acquire(op, state, kNow, kInstance);
        if (op.status == OpStatus::kDone) return;
        std::vector<QueueEntry> live = LiveOf(before);
        const bool helped = Helps(before) && live.front().id != id;
        EXPECT_EQ(state.passed_on.done, helped) << TextOf(before);
        EXPECT_EQ(state.version, helped ? kVersion + 1 : kVersion);
        if (helped) live.erase(live.begin());
        const bool waits = queue_for.count() > 0;
        EXPECT_EQ(op.result.queued, waits);
        auto mine = std::find_if(live.begin(), live.end(),
                                 [&](const QueueEntry& entry) { return entry.id == id; });
        EXPECT_EQ(op.result.ahead, mine - live.begin());
        if (waits && mine == live.end()) mine = live.insert(mine, WriterEntry(id, kNow));
        ASSERT_TRUE(SameOrder(state.queue, live)) << TextOf(before);
        if (!waits) return;
        const QueueEntry& entry = state.queue[static_cast<std::size_t>(mine - live.begin())];
        EXPECT_EQ(entry.mode, LockMode::kShared);
        EXPECT_EQ(entry.max_holders, 2);
        EXPECT_EQ(entry.until, kNow + seconds(3));
        EXPECT_EQ(entry.instance, kInstance);
      });
    }
  }
}

TEST_F(QueueRules, AShareThatIsThereAlreadyChangesNothing) {
  ForEachQueuedState([&](const LockState& before) {
    const rules::Share* const share = before.LiveShare(kShares[1], kNow);
    if (share == nullptr) return;
    LockState state = before;
    AcquireOp op = Share(kShares[1], seconds(3), 1);
    EXPECT_TRUE(Allows(op, WhyNotAcquire(op, before, kNow)));
    Acquire(op, state, kNow, kInstance);
    ASSERT_EQ(op.status, OpStatus::kDone) << TextOf(before);
    EXPECT_TRUE(op.result.passed_on) << "its lease began no later than the attempt before";
    EXPECT_EQ(op.result.version, share->fence) << "others may have been granted since";
    EXPECT_TRUE(Same(before, state)) << TextOf(before);
  });
}

/// Waiters are granted the lock in the order of their entries, whoever acts.
TEST_F(QueueRules, NoLiveWaiterIsSkipped) {
  ForEachQueuedState([&](const LockState& before) {
    const std::vector<QueueEntry> live = LiveOf(before);
    if (live.empty()) return;
    const auto check = [&](const LockState& after) {
      if (after.lock_id == before.lock_id) return;
      for (std::size_t i = 0; i < live.size(); ++i) {
        if (after.IsHeldBy(live[i].id)) {
          EXPECT_EQ(i, 0U) << TextOf(before);
        }
      }
    };
    for (const Uuid& id : {kFresh, kEntries[0], kEntries[1], kEntries[2]}) {
      LockState state = before;
      AcquireOp op = Attempt(id, seconds(3));
      Acquire(op, state, kNow);
      check(state);
      if (state.IsHeldBy(kFresh)) {
        ADD_FAILURE() << "passed: " << TextOf(before);
      }
      state = before;
      AcquireOp share = Share(id, seconds(3), kMaxHolders);
      Acquire(share, state, kNow);
      check(state);
    }
  });
}

TEST_F(QueueRules, ListsShowWhoWaits) {
  ForEachQueuedState([&](const LockState& before) {
    std::vector<LockRow> rows;
    AddRows(rows, {}, before, {.unheld = true}, kNow);
    const std::vector<QueueEntry> live = LiveOf(before);
    for (const LockRow& row : rows) {
      EXPECT_EQ(row.waiting, static_cast<int>(live.size())) << TextOf(before);
      EXPECT_EQ(row.next.name, live.empty() ? "" : "waiter");
    }
  });
}

}  // namespace
}  // namespace doclock::rules::testing
