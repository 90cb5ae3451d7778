#include <climits>
#include <set>

#include "doclock/detail/commit.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// A reply lost before or after the effect, for every operation: what is told is true, or doubt.
class DoubtTest : public EngineTest {
 protected:
  /// Makes the document, with n = 0.
  void Make(const Key& key) {
    Grant made = Lock(key);
    ASSERT_FALSE(ReleaseWith(made, {{"n", 0}}));
  }
  /// An optimistic write of what was seen.
  SaveSpec Replace(const Key& key, const ReadResult& seen, int n) {
    SaveSpec spec;
    spec.collection = collection;
    spec.key = key;
    spec.save = SaveKind::kReplace;
    spec.expected = seen.version;
    spec.born = seen.born;
    spec.body = Body::FromJson({{"n", n}});
    return spec;
  }
};

TEST_F(DoubtTest, EachGhostIsReleasedByOneTaskOnly) {
  Make("a");
  Strike(Fault::Kind::kLostBefore, OpKind::kAcquire, INT_MAX);
  std::vector<Uuid> released;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kWrite) return;
    released.push_back(static_cast<const WriteOp*>(ops.front())->request.lock_id);
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
    for (std::int64_t version = 1; version <= 2; ++version) {
      Other().Write("a", WriteKind::kCheckpoint, id,
                    {.expected = version, .body = Body::FromJson({{"n", "foreign"}})});
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

TEST_F(DoubtTest, ASaveLostBeforeAnotherOneIsInDoubtNotSuccess) {
  Grant made = Lock("a");
  ASSERT_FALSE(ReleaseWith(made, {{"n", 0}}));
  const ReadResult seen = Stored("a");
  Strike(Fault::Kind::kLostBefore, OpKind::kSave);
  bool other_wrote = false;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kRead || other_wrote) return;
    other_wrote = true;  // another client is faster than the look
    Other().Replace("a", seen.version, seen.born, {{"n", 99}});
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

TEST_F(DoubtTest, AStoreThatThrowsIsDoubtForAWrite) {
  Grant held = Lock("a");
  Strike(Fault::Kind::kThrow, OpKind::kWrite);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}})) << "settled by reading back and sending again";
  Strike(Fault::Kind::kThrow, OpKind::kRead);
  EXPECT_EQ(Stored("a").failure->code, Errc::kUnavailable);
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
    born.insert(op.kind == OpKind::kWrite ? static_cast<const WriteOp&>(op).request.born
                                          : static_cast<const SaveOp&>(op).request.born);
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

/// A renewal takes effect, its reply is lost, and every further one fails.
class DoubtThenFailureTest : public DoubtTest {
 protected:
  void InjectFor(Fault::Kind then) {
    store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kRenew});
    store->Inject({.kind = then, .op = OpKind::kRenew, .times = INT_MAX});
  }
};

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
