#include <climits>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// Replies that arrive after the holder's deadline, though the store did what was asked: what was
/// lost stays lost, and the lock does not stay behind.
class LateReplyTest : public EngineTest {
 protected:
  /// Of a lease of 3 s.
  static constexpr auto kTooLong = 2900ms;

  void ExpectLostAndFree(const Grant& held) {
    EXPECT_FALSE(LeaseHeld(*held.lease));
    EXPECT_TRUE(LeaseLost(held.lease).stop_requested());
    clock->RunPending();
    EXPECT_FALSE(Stored("a").locked) << "no handle uses the renewed lease";
  }
};

TEST_F(LateReplyTest, ARenewalRevivesNothingAndLeavesNothingLocked) {
  Grant held = Lock("a", {.ttl = 3s});
  HoldUp(OpKind::kRenew, kTooLong);
  clock->Advance(1s);
  ExpectLostAndFree(held);
}

TEST_F(LateReplyTest, ARenewalInDoubtMayHaveArrivedToo) {
  Grant held = Lock("a", {.ttl = 3s});
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kRenew, .key = {}});
  BeforeReply(OpKind::kRenew, [&] {
    clock->Jump(kTooLong);
    clock->RunPending();  // the deadline is noticed before the reply
  });
  clock->Advance(1s);
  ExpectLostAndFree(held);
}

TEST_F(LateReplyTest, AGrantNamesTheClocksIfTheirDifferenceMayBeTheReason) {
  HoldUp(OpKind::kAcquire, 4s);
  const AcquireResult late = Acquire(engine(), Spec("a", {.ttl = 3s}), {});
  ASSERT_TRUE(late.failure);
  EXPECT_TRUE(late.failure->message.ends_with("only after the lease had ended"))
      << late.failure->message;
  store->clock_margin = 2500ms;
  HoldUp(OpKind::kAcquire, 1s);
  const AcquireResult skewed = Acquire(engine(), Spec("b", {.ttl = 3s}), {});
  ASSERT_TRUE(skewed.failure);
  EXPECT_EQ(skewed.failure->code, Errc::kUnavailable);
  EXPECT_NE(skewed.failure->message.find("2500 ms early"), std::string::npos)
      << skewed.failure->message;
}

TEST_F(LateReplyTest, ARenewalByTheHandleIsLost) {
  Grant held = Lock("a", {.ttl = 3s});
  HoldUp(OpKind::kRenew, kTooLong + 1s);
  const FailurePtr failure = Renew(held.lease, 3s);
  EXPECT_EQ(CodeOf(failure), Errc::kLost);
  ExpectLostAndFree(held);
}

TEST_F(LateReplyTest, ACheckpointIsWrittenAndItsLockLost) {
  Grant held = Lock("a", {.ttl = 3s});
  HoldUp(OpKind::kWrite, kTooLong + 1s);
  EXPECT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}})));
  ExpectLostAndFree(held);
  EXPECT_EQ(Stored("a").body.json()["n"], 1);
}

/// The first request may be the one that takes effect.
TEST_F(LateReplyTest, ACheckpointThatWasSentTwiceProlongsTheLeaseFromTheFirstTime) {
  Grant held = Lock("a", {.ttl = 30s, .renew = false});
  clock->Advance(5s);
  const TimePoint sent = clock->Now();
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite, .key = {}});
  HoldUp(OpKind::kRead, 3s);
  EXPECT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}})));
  EXPECT_EQ(store->Count(OpKind::kWrite), 2);
  EXPECT_GT(held.lease->deadline(), sent + 29s);
  EXPECT_LE(held.lease->deadline(), sent + 30s);
}

TEST_F(LateReplyTest, ADetachIsLost) {
  Grant held = Lock("a", {.ttl = 3s});
  HoldUp(OpKind::kRenew, kTooLong + 1s);
  const FailurePtr failure = Detach(held.lease);
  EXPECT_EQ(CodeOf(failure), Errc::kLost);
  ExpectLostAndFree(held);
}

/// A grant that made the document is told after its lease, and another client may have erased it by
/// then.
class LateCreationTest : public EngineTest {
 protected:
  /// The next grant is told too late, once `meanwhile` has happened.
  void DelayTheGrant(std::function<void()> meanwhile) {
    store->before_reply = [this, meanwhile](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != OpKind::kAcquire || ops.front()->status != OpStatus::kDone) return;
      store->before_reply = nullptr;
      clock->Jump(4s);
      meanwhile();
    };
  }
  void EraseByAnother() { EXPECT_EQ(Other().Erase(key).status, OpStatus::kDone); }
  void ExpectInDoubtAndErased(const std::optional<Errc>& code) {
    EXPECT_EQ(code, Errc::kInDoubt);
    EXPECT_EQ(Stored(key).failure->code, Errc::kNotFound);
  }

  const Key key = "a";
  const LockOptions options{.ttl = 3s, .wait = 1h};
};

TEST_F(LateCreationTest, IsNotRepeated) {
  DelayTheGrant([this] { EraseByAnother(); });
  ExpectInDoubtAndErased(TryLock(key, options));
  DelayTheGrant([this] { EraseByAnother(); });
  ExpectInDoubtAndErased(LockLater(key, options)->code());
}

TEST_F(LateCreationTest, IsNotRepeatedByOneThatWaits) {
  Grant held = Lock(key);
  const auto waiting = LockLater(key, options);
  DelayTheGrant([this] { EraseByAnother(); });
  ASSERT_FALSE(Write(held.lease, WriteKind::kErase, Body()));
  clock->Advance(1min);
  ExpectInDoubtAndErased(waiting->code());
}

TEST_F(LateCreationTest, IsNotRepeatedAfterAWaitForItsNextHolder) {
  Grant next;
  DelayTheGrant([&] { next = Lock(key, {.ttl = 1h}); });
  const auto waiting = LockLater(key, options);
  ASSERT_FALSE(waiting->result);
  ASSERT_FALSE(Write(next.lease, WriteKind::kErase, Body()));
  clock->Advance(1min);
  ExpectInDoubtAndErased(waiting->code());
}

TEST_F(LateCreationTest, IsNotRepeatedWhenItsReplyWasLost) {
  Grant next;
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kAcquire, .key = {}});
  HoldUp(OpKind::kAcquire, 4s);
  Before(OpKind::kRenew, [&] { next = Lock(key, {.ttl = 1h}); });
  const auto waiting = LockLater(key, options);
  ASSERT_TRUE(next.lease);
  ASSERT_FALSE(waiting->result);
  ASSERT_FALSE(Write(next.lease, WriteKind::kErase, Body()));
  clock->Advance(1min);
  ExpectInDoubtAndErased(waiting->code());
}

TEST_F(LateCreationTest, IsFollowedByAGrantThatTellsOfIt) {
  DelayTheGrant([] {});
  const Grant held = Lock(key, options);
  EXPECT_TRUE(held.created);
  EXPECT_EQ(Stored(key).version, 3) << "two grants, and the release of the first";
}

TEST_F(LateCreationTest, MayFollowALateGrantOfWhatWasThere) {
  Grant made = Lock(key);
  ASSERT_FALSE(ReleaseWith(made, {{"n", 1}}));
  DelayTheGrant([this] { EraseByAnother(); });
  const Grant held = Lock(key, options);
  EXPECT_TRUE(held.created) << "this call had not created it before";
}

/// Renewals travel 1,000 together, and here one call at a time.
class WaitingRoundTest : public EngineTest {
 protected:
  static constexpr int kLocks = 1001;

  void LockAll() {
    store->lanes = 1;
    for (int i = 0; i < kLocks; ++i) held.push_back(Lock(Key(std::to_string(i)), {.ttl = 3s}));
    store->Reset();
  }
  void AfterTheFirstRound(std::function<void()> then) {
    store->before_reply = [this, then](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != OpKind::kRenew) return;
      ASSERT_EQ(ops.size(), 1000U);
      store->before_reply = nullptr;
      then();
    };
  }

  std::vector<Grant> held;
};

TEST_F(WaitingRoundTest, DoesNotRenewWhatWasDetachedMeanwhile) {
  LockAll();
  AfterTheFirstRound([this] {
    for (const Grant& grant : held) ASSERT_FALSE(Detach(grant.lease));
  });
  clock->Advance(1s);
  EXPECT_EQ(store->Count(OpKind::kRenew), 1000 + kLocks) << "a round, and what Detach sent";
}

TEST_F(WaitingRoundTest, DoesNotRenewAfterTheDeadline) {
  LockAll();
  AfterTheFirstRound([this] { clock->Jump(2001ms); });
  clock->Advance(1s);
  EXPECT_EQ(store->Count(OpKind::kRenew), 1000);
}

TEST_F(EngineTest, ARenewalByTheKeeperNeverUndoesADetach) {
  Grant held = Lock("a", {.ttl = 3s});
  bool renewed = false;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kRenew) return;
    renewed = true;
    EXPECT_TRUE(static_cast<const RenewOp*>(ops.front())->request.keep_process)
        << "it may arrive behind a Detach, and whose life the lock hangs on stays as it is";
  });
  clock->Advance(1s);
  store->OnExecute({});
  EXPECT_TRUE(renewed);
}

}  // namespace
}  // namespace doclock::detail
