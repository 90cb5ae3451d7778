#include <climits>
#include <set>

#include "doclock/detail/engine.h"
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
  const ValueRelease copy = ReleaseOf(held, Body::FromJson({{"n", 99}}));
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
  Before(OpKind::kRead, [&] { ASSERT_FALSE(ReleaseByValue(engine(), copy)); });
  const FailurePtr failure = ReleaseWith(held, {{"n", 1}});
  EXPECT_EQ(CodeOf(failure), Errc::kInDoubt) << "its body was not written";
  EXPECT_EQ(Stored("a").body.json()["n"], 99);
}

TEST_F(DoubtTest, AReleaseByValueOfAnOldVersionIsRefusedThoughItWasInDoubt) {
  Grant held = Lock("a");
  ValueRelease copy = ReleaseOf(held, Body::FromJson({{"n", 99}}));
  copy.version = LeaseVersion(*held.lease);
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
  Before(OpKind::kRead, [&] {
    ASSERT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}})));
  });
  const FailurePtr failure = ReleaseByValue(engine(), copy);
  EXPECT_EQ(CodeOf(failure), Errc::kNotOwner);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 2}}));
}

/// Under its lock only the holder moves the version, by one with each write. What is further on was
/// written by another program, and does not show whose body it holds.
TEST_F(DoubtTest, ACheckpointIsNotProvedByAVersionThatAnotherProgramHasMoved) {
  Grant held = Lock("a");
  const Uuid id = LeaseLockId(*held.lease);
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite);
  bool moved = false;
  Before(OpKind::kRead, [&] {
    moved = true;
    for (std::int64_t version = 1; version <= 2; ++version) {
      Other().Write("a", WriteKind::kCheckpoint, id,
                    {.expected = version, .body = Body::FromJson({{"n", "foreign"}})});
    }
  });
  const auto failure = Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}}));
  ASSERT_TRUE(moved);
  EXPECT_EQ(CodeOf(failure), Errc::kInDoubt);
  EXPECT_FALSE(LeaseHeld(*held.lease));
  EXPECT_EQ(Stored("a").version, 3);
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
  ValueRelease release = ReleaseOf(a, Body::FromJson({{"n", 3}}));
  release.version = LeaseVersion(*a.lease) + 7;
  commit.parts.push_back(std::move(release));
  commit.parts.push_back(HolderSpec{b.lease, WriteKind::kRelease, Body::FromJson({{"n", 4}})});
  const CommitResult result = Commit(engine(), std::move(commit));
  EXPECT_EQ(CodeOf(result), Errc::kNotOwner);
  EXPECT_TRUE(LeaseHeld(*b.lease));
}

}  // namespace
}  // namespace doclock::detail
