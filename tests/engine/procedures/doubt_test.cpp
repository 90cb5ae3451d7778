#include <gmock/gmock.h>

#include <climits>
#include <set>
#include <stdexcept>
#include <string>

#include "doclock/detail/commit.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

using ::testing::HasSubstr;

/// A reply lost before or after the effect, for every operation: what is told is true, or doubt.
class DoubtTest : public EngineTest {
 protected:
  /// Makes the document, with n = 0.
  void Make(const Key& key) {
    Grant made = Lock(key);
    ASSERT_FALSE(ReleaseWith(made, {{"n", 0}}));
  }
  /// An optimistic write of what was seen.
  SaveSpec SpecOf(SaveKind kind, const Key& key, const ReadResult& seen) {
    SaveSpec spec;
    spec.collection = collection;
    spec.key = key;
    spec.save = kind;
    spec.expected = seen.version;
    spec.born = seen.born;
    return spec;
  }
  SaveSpec EraseAny(const Key& key) {
    SaveSpec spec;
    spec.collection = collection;
    spec.key = key;
    spec.save = SaveKind::kErase;
    return spec;
  }
  SaveSpec Replace(const Key& key, const ReadResult& seen, int n) {
    SaveSpec spec = SpecOf(SaveKind::kReplace, key, seen);
    spec.body = Body::FromJson({{"n", n}});
    return spec;
  }
};

constexpr auto kLostReplies = {Fault::Kind::kLostBefore, Fault::Kind::kLostAfter};

TEST_F(DoubtTest, AHandleInDoubtSaysThatItIsInDoubt) {
  const auto why = [](const auto& verb) -> std::string {
    try {
      verb();
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  Grant held = Lock("a");
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite, INT_MAX);
  EXPECT_EQ(ReleaseWith(held, {{"n", 1}})->code, Errc::kInDoubt);
  store->Heal();
  EXPECT_THAT(why([&] { (void)ReleaseWith(held, {{"n", 1}}); }), HasSubstr("in doubt"));
  EXPECT_THAT(why([&] { (void)Detach(held.lease); }), HasSubstr("in doubt"));
  Grant detached = Lock("b");
  ASSERT_FALSE(Detach(detached.lease));
  EXPECT_THAT(why([&] { (void)ReleaseWith(detached, {}); }), HasSubstr("detached"));
  Grant released = Lock("c");
  ASSERT_FALSE(ReleaseWith(released, {{"n", 1}}));
  EXPECT_THAT(why([&] { (void)ReleaseWith(released, {}); }), HasSubstr("released already"));
}

TEST_F(DoubtTest, AShareThatIsGoneIsLostUnlessItsOwnReleaseMayHaveEndedIt) {
  Make("a");
  Grant broken = Lock("a", {.mode = LockMode::kShared});
  testing::BreakLock(*store, "orders", "a");
  const FailurePtr failure = Write(broken.lease, WriteKind::kRelease, Body());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kLost);
  Grant held = Lock("a", {.mode = LockMode::kShared});
  Strike(Fault::Kind::kLostAfter, OpKind::kWrite);
  EXPECT_FALSE(Write(held.lease, WriteKind::kRelease, Body()));
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(DoubtTest, AnUpsertLostBeforeTheEffectIsInDoubtAndNeverUpsertedAgain) {
  Strike(Fault::Kind::kLostBefore, OpKind::kAcquire);
  EXPECT_EQ(TryLock("a"), Errc::kInDoubt);
  EXPECT_EQ(Stored("a").failure->code, Errc::kNotFound);
}

TEST_F(DoubtTest, AnAcquireThatCannotBeConfirmedIsInDoubtAndGivenBack) {
  Strike(Fault::Kind::kLostAfter, OpKind::kAcquire);
  Strike(Fault::Kind::kErrorBefore, OpKind::kRenew, INT_MAX);
  EXPECT_EQ(TryLock("a"), Errc::kInDoubt);
  clock->Advance(1s);
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(DoubtTest, EachGhostIsReleasedByOneTaskOnly) {
  Make("a");
  Strike(Fault::Kind::kLostBefore, OpKind::kAcquire, INT_MAX);
  std::vector<Uuid> released;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kWrite) return;
    released.push_back(static_cast<const WriteOp*>(ops.front())->lock_id);
  });
  EXPECT_EQ(TryLock("a"), Errc::kInDoubt);
  clock->RunPending();
  store->OnExecute({});
  EXPECT_EQ(released.size(), 4U) << "the first attempt and three more";
  EXPECT_EQ(std::set<Uuid>(released.begin(), released.end()).size(), released.size());
}

TEST_F(DoubtTest, AReleaseByValueIsNotTakenForTheHandlesOwn) {
  Grant held = Lock("a");
  ValueRelease copy;
  copy.collection = collection;
  copy.key = "a";
  copy.lock_id = LeaseLockId(*held.lease);
  copy.fields = Body::FromJson({{"n", 99}});
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kRead) return;
    store->OnExecute({});
    ASSERT_FALSE(ReleaseByValue(engine(), copy));
  });
  const FailurePtr failure = ReleaseWith(held, {{"n", 1}});
  ASSERT_TRUE(failure) << "its body was not written";
  EXPECT_EQ(failure->code, Errc::kInDoubt);
  EXPECT_EQ(Stored("a").body.json()["n"], 99);
}

TEST_F(DoubtTest, AReleaseByValueOfAnOldVersionIsRefusedThoughItWasInDoubt) {
  Grant held = Lock("a");
  ValueRelease copy;
  copy.collection = collection;
  copy.key = "a";
  copy.lock_id = LeaseLockId(*held.lease);
  copy.version = LeaseVersion(*held.lease);
  copy.fields = Body::FromJson({{"n", 99}});
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kRead) return;
    store->OnExecute({});
    ASSERT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}})));
  });
  const FailurePtr failure = ReleaseByValue(engine(), copy);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kNotOwner);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 2}}));
}

TEST_F(DoubtTest, AReleaseSentAgainIsNotAppliedTwiceWhenTheFirstArrivesLate) {
  Grant held = Lock("a");
  Strike(Fault::Kind::kLate, OpKind::kWrite);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
  Grant next = Lock("a");
  ASSERT_FALSE(ReleaseWith(next, {{"n", 2}}));
  store->ReleaseLate();
  EXPECT_EQ(Stored("a").body.json()["n"], 2);
}

TEST_F(DoubtTest, AReleaseThatCannotBeSettledIsInDoubtNotSuccess) {
  Grant held = Lock("a", {.ttl = 5s});
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite, INT_MAX);
  const auto failure = ReleaseWith(held, {{"n", 1}});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kInDoubt);
  EXPECT_THROW(ReleaseWith(held, {{"n", 2}}), std::logic_error);
  store->Heal();
  clock->Advance(10s);
  EXPECT_FALSE(Stored("a").locked) << "the lease resolves it";
}

TEST_F(DoubtTest, AReleaseAfterWhichTheStoreIsBlindIsInDoubt) {
  Grant held = Lock("a", {.ttl = 5s});
  Strike(Fault::Kind::kLostAfter, OpKind::kWrite);
  Strike(Fault::Kind::kErrorBefore, OpKind::kRead, INT_MAX);
  const auto failure = ReleaseWith(held, {{"n", 1}});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kInDoubt);
}

/// Under its lock only the holder moves the version, by one with each write. What is further on was
/// written by another program, and does not show whose body it holds.
TEST_F(DoubtTest, ACheckpointIsNotProvedByAVersionThatAnotherProgramHasMoved) {
  Grant held = Lock("a");
  const Uuid id = LeaseLockId(*held.lease);
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
  bool moved = false;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kRead || moved) return;
    moved = true;
    const Key key("a");
    for (std::int64_t version = 1; version <= 2; ++version) {
      WriteOp foreign(*collection, key);
      foreign.write = WriteKind::kCheckpoint;
      foreign.lock_id = id;
      foreign.expected = version;
      foreign.ttl = 30s;
      foreign.body = Body::FromJson({{"n", "foreign"}});
      StoreOp* const one[] = {&foreign};
      store->Execute(one, 10s);
    }
  });
  const auto failure = Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}}));
  store->OnExecute({});
  ASSERT_TRUE(moved);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kInDoubt);
  EXPECT_FALSE(LeaseHeld(*held.lease));
  EXPECT_EQ(Stored("a").version, 3);
}

TEST_F(DoubtTest, ARenewalLostEitherWayIsRepeated) {
  for (const auto kind : {Fault::Kind::kLostBefore, Fault::Kind::kLostAfter}) {
    Grant held = Lock("a", {.ttl = 12s});
    Strike(kind, OpKind::kRenew, 3);
    clock->Advance(1min);
    EXPECT_TRUE(LeaseHeld(*held.lease));
    ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  }
}

TEST_F(DoubtTest, ASaveLostBeforeAnotherOneIsInDoubtNotSuccess) {
  Grant made = Lock("a");
  ASSERT_FALSE(ReleaseWith(made, {{"n", 0}}));
  const ReadResult seen = Stored("a");
  Strike(Fault::Kind::kLostBefore, OpKind::kSave);
  bool other_wrote = false;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kRead || other_wrote) return;
    other_wrote = true;  // another client is faster than the look
    SaveOp other(*collection, *ops.front()->key);
    other.expected = seen.version;
    other.born = seen.born;
    other.write_id = NewUuid();
    other.body = Body::FromJson({{"n", 99}});
    StoreOp* const one[] = {&other};
    store->Execute(one, 1s);
  });
  SaveSpec save;
  save.collection = collection;
  save.key = "a";
  save.expected = seen.version;
  save.born = seen.born;
  save.body = Body::FromJson({{"n", 1}});
  SaveResult result = Save(engine(), std::move(save));
  store->OnExecute({});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code, Errc::kInDoubt);
  EXPECT_EQ(Stored("a").body.json()["n"], 99);
}

/// Another client locks and writes after the lost reply and before the look: the mark is still
/// there, and the version is not the write's own any more.
class MovedOnTest : public DoubtTest {
 protected:
  /// At the next look: takes the lock, and stores n = 99 under it.
  void MoveAtTheLook() {
    store->OnExecute([this](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != OpKind::kRead) return;
      store->OnExecute({});
      other = Lock(*ops.front()->key);
      ASSERT_FALSE(Write(other.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 99}})));
    });
  }

  Grant other;
};

TEST_F(MovedOnTest, ASavesVersionIsItsOwnAndTheNextOneIsRefused) {
  Make("a");
  const ReadResult seen = Stored("a");
  Strike(Fault::Kind::kLostAfter, OpKind::kSave);
  MoveAtTheLook();
  ReadResult saved;
  {
    const SaveResult result = Save(engine(), Replace("a", seen, 1));
    ASSERT_FALSE(result.failure);
    EXPECT_EQ(result.version, seen.version + 1);
    saved.version = result.version;
    saved.born = result.born;
  }
  clock->Jump(1h);  // the other one's lease is over
  const SaveResult again = Save(engine(), Replace("a", saved, 2));
  ASSERT_TRUE(again.failure) << "it would overwrite what it never saw";
  EXPECT_EQ(again.failure->code, Errc::kConflict);
  EXPECT_EQ(Stored("a").body.json()["n"], 99);
}

TEST_F(MovedOnTest, AnInsertsVersionIsTheFirst) {
  Strike(Fault::Kind::kLostAfter, OpKind::kSave);
  MoveAtTheLook();
  SaveSpec insert = Replace("a", {}, 1);
  insert.save = SaveKind::kInsert;
  const SaveResult result = Save(engine(), std::move(insert));
  ASSERT_FALSE(result.failure);
  EXPECT_EQ(result.version, 1);
  EXPECT_EQ(result.born, Stored("a").born);
}

TEST_F(MovedOnTest, AReleasesVersionIsItsOwn) {
  Grant held = Lock("a");
  Strike(Fault::Kind::kLostAfter, OpKind::kWrite);
  MoveAtTheLook();
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  EXPECT_EQ(LeaseVersion(*held.lease), LeaseFence(*held.lease) + 1);
}

TEST_F(DoubtTest, AnInsertInDoubtIsNeverSentAgain) {
  Strike(Fault::Kind::kLostBefore, OpKind::kSave);
  SaveSpec insert;
  insert.collection = collection;
  insert.key = "a";
  insert.save = SaveKind::kInsert;
  insert.body = Body::FromJson({{"n", 1}});
  store->Reset();
  EXPECT_EQ(Save(engine(), insert).failure->code, Errc::kInDoubt);
  EXPECT_EQ(store->Count(OpKind::kSave), 1);
  Strike(Fault::Kind::kLostAfter, OpKind::kSave);
  EXPECT_FALSE(Save(engine(), insert).failure);
}

TEST_F(DoubtTest, AHandOverThatFailsLeavesTheWaiterInTheQueue) {
  Grant held = Lock("a");
  auto next = LockLater("a", {.wait = kForever});
  Strike(Fault::Kind::kRefused, OpKind::kWrite);
  EXPECT_EQ(ReleaseWith(held, {{"n", 1}})->code, Errc::kRefused);
  clock->RunPending();
  EXPECT_FALSE(next->result);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 2}}));
  clock->RunPending();
  EXPECT_TRUE(next->granted());
}

TEST_F(DoubtTest, AReleaseInDoubtWhoseLockIsBrokenMeanwhileIsNotCalledDone) {
  for (const auto kind : {WriteKind::kRelease, WriteKind::kErase}) {
    Grant held = Lock("a");
    Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
    bool broken = false;
    store->OnExecute([&](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != OpKind::kRead || broken) return;
      broken = true;
      testing::BreakLock(*store, "orders", "a");
    });
    const auto failure =
        Write(held.lease, kind, kind == WriteKind::kErase ? Body() : Body::FromJson({{"n", 7}}));
    store->OnExecute({});
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code, Errc::kInDoubt);
    EXPECT_EQ(Stored("a").body.json()["n"], 0);
  }
}

TEST_F(DoubtTest, AStoreThatThrowsIsDoubtForAWrite) {
  Grant held = Lock("a");
  Strike(Fault::Kind::kThrow, OpKind::kWrite);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}})) << "settled by reading back and sending again";
  Strike(Fault::Kind::kThrow, OpKind::kRead);
  EXPECT_EQ(Stored("a").failure->code, Errc::kUnavailable);
}

TEST_F(DoubtTest, AReadWhoseReplyWasLostIsNoDoubtOfAWrite) {
  Make("a");
  for (const auto kind : {Fault::Kind::kLostBefore, Fault::Kind::kLostAfter, Fault::Kind::kLate}) {
    Strike(kind, OpKind::kRead);
    const ReadResult read = Stored("a");
    ASSERT_TRUE(read.failure);
    EXPECT_EQ(read.failure->code, Errc::kUnavailable);
    EXPECT_EQ(read.failure->message.find("write"), std::string::npos) << read.failure->message;
    EXPECT_FALSE(Stored("a").failure) << "trying again helps";
  }
}

TEST_F(DoubtTest, AnAcquireIsGrantedThoughTheReadThatFollowsIsLost) {
  Strike(Fault::Kind::kLostAfter, OpKind::kAcquire);
  Strike(Fault::Kind::kLostBefore, OpKind::kRead);
  store->Reset();
  Grant held = Lock("a");
  EXPECT_EQ(store->Count(OpKind::kAcquire), 1);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
}

TEST_F(DoubtTest, AReleaseIsDoneThoughTheLookThatFollowsIsLost) {
  Grant held = Lock("a");
  Strike(Fault::Kind::kLostAfter, OpKind::kWrite);
  Strike(Fault::Kind::kLostBefore, OpKind::kRead);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
  EXPECT_EQ(Stored("a").version, 2);
}

TEST_F(DoubtTest, AnOptimisticEraseByVersionLostEitherWayErases) {
  for (const auto kind : kLostReplies) {
    Make("a");
    Strike(kind, OpKind::kSave);
    EXPECT_FALSE(Save(engine(), SpecOf(SaveKind::kErase, "a", Stored("a"))).failure);
    EXPECT_EQ(Stored("a").failure->code, Errc::kNotFound);
  }
}

TEST_F(DoubtTest, AnEraseOfAnyVersionLostAfterTheEffectIsDone) {
  Make("a");
  Strike(Fault::Kind::kLostAfter, OpKind::kSave);
  EXPECT_FALSE(Save(engine(), EraseAny("a")).failure);
  EXPECT_EQ(Stored("a").failure->code, Errc::kNotFound);
}

TEST_F(DoubtTest, AnEraseOfAnyVersionLostBeforeTheEffectIsInDoubtAndNotSentAgain) {
  Make("a");
  Strike(Fault::Kind::kLostBefore, OpKind::kSave);
  store->Reset();
  const SaveResult erased = Save(engine(), EraseAny("a"));
  ASSERT_TRUE(erased.failure);
  EXPECT_EQ(erased.failure->code, Errc::kInDoubt);
  EXPECT_EQ(store->Count(OpKind::kSave), 1) << "it could erase what was made meanwhile";
  EXPECT_EQ(Stored("a").body.json()["n"], 0);
}

TEST_F(DoubtTest, ADetachLostEitherWayIsDone) {
  for (const auto kind : kLostReplies) {
    Grant held = Lock("a", {.ttl = 10s});
    Strike(kind, OpKind::kRenew);
    EXPECT_FALSE(Detach(held.lease));
    store->Reset();
    clock->Advance(9s);
    EXPECT_EQ(TryLock("a"), Errc::kBusy);
    clock->Advance(2s);
    EXPECT_EQ(store->Count(OpKind::kRenew), 0);
    EXPECT_FALSE(Stored("a").locked);
  }
}

TEST_F(DoubtTest, ADetachThatCannotBeSettledIsInDoubtAndTheLeaseEndsIt) {
  Grant held = Lock("a", {.ttl = 10s});
  Strike(Fault::Kind::kLostAfter, OpKind::kRenew, INT_MAX);
  const FailurePtr failure = Detach(held.lease);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kInDoubt);
  EXPECT_FALSE(LeaseHeld(*held.lease));
  clock->Advance(11s);
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(DoubtTest, ADroppedGrantWhoseReleaseIsLostEitherWayIsFreeSoon) {
  for (const auto kind : kLostReplies) {
    {
      Grant dropped = Lock("a", {.ttl = 1h});
      Strike(kind, OpKind::kWrite);
    }
    clock->Advance(1s);
    EXPECT_FALSE(Stored("a").locked);
    EXPECT_EQ(Stored("a").body.json()["n"], 0);
  }
  EXPECT_EQ(Stored("a").version, 4) << "two grants and two releases";
}

TEST_F(DoubtTest, AStoreIsToldWhatIsSentAgainAndOfWhichDocument) {
  std::vector<bool> again;
  std::set<Uuid> born;
  Grant held = Lock("a");
  const Uuid made = Stored("a").born;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    const StoreOp& op = *ops.front();
    if (op.kind != OpKind::kWrite && op.kind != OpKind::kSave) return;
    again.push_back(op.is_retry);
    born.insert(op.kind == OpKind::kWrite ? static_cast<const WriteOp&>(op).born
                                          : static_cast<const SaveOp&>(op).born);
  });
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
  ASSERT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}})));
  ASSERT_FALSE(ReleaseWith(held, {{"n", 2}}));
  Strike(Fault::Kind::kLostBefore, OpKind::kSave);
  ASSERT_FALSE(Save(engine(), Replace("a", Stored("a"), 3)).failure);
  store->OnExecute({});
  EXPECT_EQ(again, (std::vector<bool>{false, true, false, false, true}));
  EXPECT_EQ(born, std::set<Uuid>{made});
}

TEST_F(DoubtTest, ACheckpointThatArrivesLateChangesNothing) {
  Grant held = Lock("a");
  Strike(Fault::Kind::kLate, OpKind::kWrite);
  ASSERT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}})));
  ASSERT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 2}})));
  ASSERT_EQ(store->ReleaseLate(), 1);
  EXPECT_EQ(Stored("a").body.json()["n"], 2);
  EXPECT_EQ(Stored("a").version, 3);
  EXPECT_TRUE(LeaseHeld(*held.lease));
  EXPECT_FALSE(ReleaseWith(held, {{"n", 3}}));
}

TEST_F(DoubtTest, AnOptimisticSaveThatArrivesLateChangesNothing) {
  Make("a");
  Strike(Fault::Kind::kLate, OpKind::kSave);
  ASSERT_FALSE(Save(engine(), Replace("a", Stored("a"), 1)).failure);
  ASSERT_FALSE(Save(engine(), Replace("a", Stored("a"), 2)).failure);
  const std::int64_t version = Stored("a").version;
  ASSERT_EQ(store->ReleaseLate(), 1);
  EXPECT_EQ(Stored("a").body.json()["n"], 2);
  EXPECT_EQ(Stored("a").version, version);
}

/// A renewal takes effect, its reply is lost, and every further one fails.
class DoubtThenFailureTest : public DoubtTest {
 protected:
  void InjectFor(Fault::Kind then) {
    store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kRenew});
    store->Inject({.kind = then, .op = OpKind::kRenew, .times = INT_MAX});
  }
};

TEST_F(DoubtThenFailureTest, ARenewalIsInDoubt) {
  for (const auto then : {Fault::Kind::kErrorBefore, Fault::Kind::kRefused}) {
    Grant held = Lock("a", {.ttl = 10s});
    InjectFor(then);
    const FailurePtr failure = Renew(held.lease, 1h);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code, Errc::kInDoubt);
    EXPECT_TRUE(LeaseHeld(*held.lease));
    store->Heal();
    EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
  }
}

TEST_F(DoubtThenFailureTest, ALostLockIsGivenBackHoweverLongItMayLast) {
  Grant held = Lock("a", {.ttl = 10s});
  InjectFor(Fault::Kind::kErrorBefore);
  EXPECT_TRUE(Renew(held.lease, 1h));
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite, .times = INT_MAX});
  clock->Advance(30min);
  EXPECT_TRUE(LeaseLost(held.lease).stop_requested());
  EXPECT_EQ(TryLock("a"), Errc::kBusy);
  store->Heal();
  clock->Advance(1s);
  EXPECT_EQ(TryLock("a"), std::nullopt);
}

TEST_F(DoubtThenFailureTest, ADroppedHandleIsGivenBackHoweverLongItMayLast) {
  {
    Grant held = Lock("a", {.ttl = 10s});
    InjectFor(Fault::Kind::kErrorBefore);
    EXPECT_TRUE(Renew(held.lease, 1h));
    store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite, .times = INT_MAX});
  }
  clock->Advance(30min);
  store->Heal();
  clock->Advance(1s);
  EXPECT_EQ(TryLock("a"), std::nullopt);
}

TEST_F(DoubtThenFailureTest, ARenewalWhoseLockWasLostMeanwhileIsGivenBack) {
  Grant held = Lock("a", {.ttl = 10s, .renew = false});
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kRenew});
  HoldUp(OpKind::kRenew, 11s);
  const FailurePtr failure = Renew(held.lease, 1h);
  ASSERT_TRUE(failure);
  clock->Advance(1s);
  EXPECT_FALSE(LeaseHeld(*held.lease));
  EXPECT_EQ(TryLock("a"), std::nullopt);
}

TEST_F(DoubtThenFailureTest, ADetachIsInDoubt) {
  for (const auto then : {Fault::Kind::kErrorBefore, Fault::Kind::kRefused}) {
    Grant held = Lock("a", {.ttl = 10s});
    InjectFor(then);
    const FailurePtr failure = Detach(held.lease);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code, Errc::kInDoubt);
    EXPECT_FALSE(LeaseHeld(*held.lease));
    store->Heal();
    clock->Advance(10s);
    EXPECT_EQ(TryLock("a"), std::nullopt) << "its lease ended it";
  }
}

/// Another version, under the same lock, proves that this release has not been and cannot be.
TEST_F(DoubtTest, ACommitThatCanNeverBeDoneIsRefusedAndLeavesTheOthersHeld) {
  const Grant a = Lock("a");
  const Grant b = Lock("b");
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kWrite, .key = "a"});
  CommitSpec commit;
  commit.parts.push_back(ValueRelease{.collection = collection,
                                      .key = "a",
                                      .lock_id = LeaseLockId(*a.lease),
                                      .version = LeaseVersion(*a.lease) + 7,
                                      .fields = Body::FromJson({{"n", 3}})});
  commit.parts.push_back(HolderSpec{b.lease, WriteKind::kRelease, Body::FromJson({{"n", 4}})});
  const CommitResult result = Commit(engine(), std::move(commit));
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code, Errc::kNotOwner);
  EXPECT_TRUE(LeaseHeld(*b.lease));
}

}  // namespace
}  // namespace doclock::detail
