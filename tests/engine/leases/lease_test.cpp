#include <atomic>
#include <climits>
#include <functional>
#include <thread>
#include <vector>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class LeaseTest : public EngineTest {
 protected:
  static constexpr auto kAllWrites = {WriteKind::kRelease, WriteKind::kCheckpoint,
                                      WriteKind::kErase};

  static Body BodyFor(WriteKind kind) {
    return kind == WriteKind::kErase ? Body() : Body::FromJson({{"n", 7}});
  }
  std::optional<Errc> WriteCode(Grant& held, WriteKind kind) {
    const FailurePtr failure = Write(held.lease, kind, BodyFor(kind));
    return failure ? std::optional(failure->code) : std::nullopt;
  }
  std::optional<Errc> AsyncCode(const std::function<void(WriteDone)>& start) {
    std::optional<Errc> code;
    start([&](FailurePtr failure) {
      if (failure) code = failure->code;
    });
    clock->RunPending();
    return code;
  }
  std::optional<Errc> WriteAsyncCode(Grant& held, WriteKind kind) {
    return AsyncCode(
        [&](WriteDone done) { WriteAsync(held.lease, kind, BodyFor(kind), std::move(done)); });
  }

  /// The handle knows that its lock is lost: it does nothing more, ever.
  void ExpectDead(Grant& held) {
    ASSERT_TRUE(LeaseLost(held.lease).stop_requested());
    EXPECT_EQ(LeaseRemaining(*held.lease).count(), 0) << "also if it was lost before its time";
    store->Reset();
    for (const WriteKind kind : kAllWrites) {
      EXPECT_EQ(WriteCode(held, kind), Errc::kLost);
      EXPECT_EQ(WriteAsyncCode(held, kind), Errc::kLost);
    }
    EXPECT_EQ(Detach(held.lease)->code, Errc::kLost);
    clock->Advance(1h);
    EXPECT_EQ(store->Count(OpKind::kWrite), 0);
    EXPECT_EQ(store->Count(OpKind::kRenew), 0);
  }
  /// The lock as it is stored.
  ReadOp LockOf(const Key& key) {
    ReadOp look(*collection, key);
    StoreOp* const ops[] = {&look};
    store->Execute(ops, 1s);
    return look;
  }
};

TEST_F(LeaseTest, RenewsByItselfForTenHours) {
  Grant held = Lock("a", {.ttl = 10s});
  store->Reset();
  clock->Advance(10h);
  EXPECT_TRUE(LeaseHeld(*held.lease));
  EXPECT_FALSE(LeaseLost(held.lease).stop_requested());
  // One renewal each third of the lease, give or take the slack that lets renewals travel together.
  EXPECT_GT(store->Count(OpKind::kRenew), 36'000 / 10 * 3 - 10);
  EXPECT_LT(store->Count(OpKind::kRenew), 36'000 / 10 * 5);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
}

TEST_F(LeaseTest, IsNotRenewedWhenNotWanted) {
  Grant held = Lock("a", {.ttl = 10s, .renew = false});
  const auto lost = LeaseLost(held.lease);
  clock->Advance(9s);
  EXPECT_FALSE(lost.stop_requested());
  clock->Advance(1s);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(store->Count(OpKind::kRenew), 0);
}

TEST_F(LeaseTest, LostFiresBeforeAnyoneElseCanHoldTheLockWhenTheStoreIsAway) {
  Grant held = Lock("a", {.ttl = 10s});
  store->Inject({.kind = Fault::Kind::kErrorBefore,
                 .op = OpKind::kRenew,
                 .key = {},
                 .skip = 0,
                 .times = INT_MAX});
  bool free_when_lost = true;
  const std::stop_callback on_lost(LeaseLost(held.lease), [&] {
    ReadOp look(*collection, LeaseKey(*held.lease));
    StoreOp* const ops[] = {&look};
    store->Execute(ops, 1s);
    free_when_lost = !look.locked;
  });
  clock->Advance(20s);
  EXPECT_TRUE(LeaseLost(held.lease).stop_requested());
  EXPECT_FALSE(free_when_lost);
  const auto failure = ReleaseWith(held, {{"n", 7}});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kLost);
  EXPECT_EQ(Stored("a").body.json()["n"], 0);
}

TEST_F(LeaseTest, LostFiresWhileARenewalHangs) {
  Grant held = Lock("a", {.ttl = 10s});
  const auto lost = LeaseLost(held.lease);
  clock->DelayWork(60s);
  clock->Advance(9900ms);
  EXPECT_FALSE(lost.stop_requested());
  clock->Advance(100ms);
  EXPECT_TRUE(lost.stop_requested());
  // The late renewal revives nothing.
  clock->Advance(5min);
  EXPECT_FALSE(LeaseHeld(*held.lease));
  EXPECT_EQ(LeaseRemaining(*held.lease), 0ns);
}

TEST_F(LeaseTest, AFewFailedRenewalsDoNotLoseIt) {
  Grant held = Lock("a", {.ttl = 12s});
  store->Inject(
      {.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRenew, .key = {}, .skip = 0, .times = 4});
  clock->Advance(1h);
  EXPECT_TRUE(LeaseHeld(*held.lease));
}

TEST_F(LeaseTest, APausedHolderLearnsBeforeAnyFurtherWrite) {
  Grant held = Lock("a", {.ttl = 10s});
  clock->Jump(11s);  // nothing runs: the process is stopped
  store->Reset();
  const auto failure = ReleaseWith(held, {{"n", 7}});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kLost);
  EXPECT_EQ(store->Count(OpKind::kWrite), 0) << "the handle must send nothing more";
  clock->RunPending();
  EXPECT_TRUE(LeaseLost(held.lease).stop_requested());
}

TEST_F(LeaseTest, APausedHolderWritesNothingWhateverItTriesFirst) {
  std::vector<Grant> held;
  for (int i = 0; i < 8; ++i) held.push_back(Lock(i, {.ttl = 10s}));
  clock->Jump(11s);
  store->Reset();
  std::size_t next = 0;
  for (const WriteKind kind : kAllWrites) {
    EXPECT_EQ(WriteCode(held[next++], kind), Errc::kLost);
    EXPECT_EQ(WriteAsyncCode(held[next++], kind), Errc::kLost);
  }
  EXPECT_EQ(Detach(held[next++].lease)->code, Errc::kLost);
  EXPECT_EQ(AsyncCode([&](WriteDone done) { DetachAsync(held[next].lease, std::move(done)); }),
            Errc::kLost);
  EXPECT_EQ(store->Calls(), 0);
  for (const Grant& grant : held) EXPECT_TRUE(LeaseLost(grant.lease).stop_requested());
}

TEST_F(LeaseTest, ADetachOfAPausedHolderSendsNothing) {
  Grant held = Lock("a", {.ttl = 10s});
  clock->Jump(11s);
  store->Reset();
  EXPECT_EQ(Detach(held.lease)->code, Errc::kLost);
  EXPECT_EQ(store->Calls(), 0);
}

TEST_F(LeaseTest, APausedHolderDoesNotReviveItsLease) {
  Grant held = Lock("a", {.ttl = 10s});
  clock->Jump(11s);
  clock->Advance(1min);
  EXPECT_FALSE(LeaseHeld(*held.lease));
  EXPECT_EQ(TryLock("a"), std::nullopt);
}

TEST_F(LeaseTest, TheHolderOfABrokenLockLearnsByItsNextRenewal) {
  Grant held = Lock("a", {.ttl = 9s});
  testing::BreakLock(*store, "orders", "a");
  clock->Advance(3500ms);
  ExpectDead(held);
  EXPECT_EQ(Stored("a").body.json()["n"], 0);
}

TEST_F(LeaseTest, TheHolderOfAStolenLockLearnsAndWritesNothing) {
  Grant held = Lock("a", {.ttl = 9s});
  testing::StealLock(*store, "orders", "a");
  const auto failure = ReleaseWith(held, {{"n", 7}});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kLost);
  EXPECT_TRUE(Stored("a").locked);
  EXPECT_EQ(Stored("a").body.json()["n"], 0);
}

TEST_F(LeaseTest, TheHolderOfAnErasedDocumentLearnsByItsNextRenewal) {
  Grant held = Lock("a", {.ttl = 9s});
  testing::ExpireLock(*store, "orders", "a");
  SaveSpec erase;
  erase.collection = collection;
  erase.key = "a";
  erase.save = SaveKind::kErase;
  ASSERT_FALSE(Save(engine(), std::move(erase)).failure);
  clock->Advance(3500ms);
  ExpectDead(held);
  EXPECT_EQ(Stored("a").failure->code, Errc::kNotFound) << "nothing of it ever creates";
}

TEST_F(LeaseTest, ACheckpointWritesAndRenewsAndKeepsTheLock) {
  Grant held = Lock("a", {.ttl = 10s, .renew = false});
  clock->Advance(8s);
  ASSERT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 5}})));
  clock->Advance(8s);
  EXPECT_TRUE(LeaseHeld(*held.lease));
  EXPECT_EQ(Stored("a").body.json()["n"], 5);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 6}}));
  EXPECT_EQ(Stored("a").body.json()["n"], 6);
}

TEST_F(LeaseTest, ARefusedReleaseLeavesTheLockHeld) {
  Grant held = Lock("a", {.ttl = 10s});
  store->Inject({.kind = Fault::Kind::kRefused, .op = OpKind::kWrite, .key = {}});
  const auto failure = ReleaseWith(held, {{"n", 1}});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kRefused);
  clock->Advance(1min);
  EXPECT_TRUE(LeaseHeld(*held.lease));
  EXPECT_FALSE(ReleaseWith(held, {{"n", 2}}));
}

TEST_F(LeaseTest, ManyLeasesAreRenewedInFewCalls) {
  std::vector<Grant> held;
  for (int i = 0; i < 5000; ++i) held.push_back(Lock(i, {.ttl = 10s}));
  store->Reset();
  clock->Advance(3500ms);
  EXPECT_EQ(store->Count(OpKind::kRenew), 5000);
  EXPECT_LE(store->Calls(), 6);
  for (auto& grant : held) grant.lease = nullptr;  // let the leases be
}

TEST_F(LeaseTest, ARoundThatHasNothingLeftToRenewIsNotSent) {
  store->lanes = 1;  // one round at a time
  const Grant first = Lock("a", {.ttl = 10s});
  clock->Advance(1500ms);
  Grant second = Lock("b", {.ttl = 10s});
  int empty = 0;
  int renewals = 0;
  store->before_reply = [&](std::span<StoreOp* const> ops) {
    if (ops.empty()) {
      ++empty;
    } else if (ops.front()->kind == OpKind::kRenew) {
      ++renewals;
    }
  };
  clock->DelayWork(4s);
  clock->Advance(4s);  // the round of the first is under way, that of the second waits
  EXPECT_EQ(renewals, 0);
  EXPECT_FALSE(ReleaseWith(second, {{"n", 1}}));
  clock->DelayWork(0s);
  clock->Advance(3s);
  EXPECT_GT(renewals, 0);
  EXPECT_EQ(empty, 0);
  store->before_reply = nullptr;
}

TEST_F(LeaseTest, DetachLeavesTheLockToItsLease) {
  Grant held = Lock("a", {.ttl = 10s});
  ASSERT_FALSE(Detach(held.lease));
  store->Reset();
  clock->Advance(9s);
  EXPECT_EQ(TryLock("a"), Errc::kBusy);
  clock->Advance(2s);
  EXPECT_EQ(TryLock("a"), std::nullopt);
  EXPECT_EQ(store->Count(OpKind::kRenew), 0);
}

TEST_F(LeaseTest, ADroppedGrantIsGivenBackWithItsBodyUntouched) {
  { Grant held = Lock("a", {.ttl = 10s}); }
  EXPECT_EQ(TryLock("a"), std::nullopt);
  EXPECT_EQ(Stored("a").body.json()["n"], 0);
}

TEST_F(LeaseTest, ADroppedGrantIsGivenBackOnceTheStoreIsThereAgain) {
  {
    Grant held = Lock("a", {.ttl = 1h});
    store->Inject({.kind = Fault::Kind::kErrorBefore,
                   .op = OpKind::kWrite,
                   .key = {},
                   .skip = 0,
                   .times = 5});
  }
  clock->Advance(1min);
  EXPECT_EQ(TryLock("a"), std::nullopt);
}

TEST_F(LeaseTest, AnOperationAfterReleaseIsMisuse) {
  Grant held = Lock("a");
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  EXPECT_THROW(ReleaseWith(held, {{"n", 2}}), std::logic_error);
  EXPECT_FALSE(LeaseLost(held.lease).stop_requested()) << "released is not lost";
}

/// A store of eight lanes that remembers how many calls with renewals ran at once.
class RenewalCounter final : public FaultyStore {
 public:
  RenewalCounter() : FaultyStore(OpenMemoryStore()) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    return {.lanes = 8, .max_batch = 16, .immediate = false};
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    if (ops.front()->kind != OpKind::kRenew) return FaultyStore::Execute(ops, budget);
    const int inside = ++inside_;
    int most = most_;
    while (inside > most && !most_.compare_exchange_weak(most, inside)) continue;
    std::this_thread::sleep_for(10ms);  // until all that may come have come
    FaultyStore::Execute(ops, budget);
    renewed_ += ops.size();
    --inside_;
  }
  [[nodiscard]] int most() const noexcept { return most_; }
  [[nodiscard]] std::size_t renewed() const noexcept { return renewed_; }

 private:
  std::atomic<int> inside_ = 0;
  std::atomic<int> most_ = 0;
  std::atomic<std::size_t> renewed_ = 0;
};

TEST(RenewalLanesTest, ManyRenewalsLeaveMostLanesToCallers) {
  constexpr int kHeld = 6000;
  const auto store = std::make_shared<RenewalCounter>();
  LockManager manager{store};
  const auto collection = store->Open("orders", {}, 30s);
  std::vector<Grant> held;
  for (int i = 0; i < kHeld; ++i) {
    AcquireSpec spec = MakeSpec(manager.engine(), *collection, {.ttl = 2s}, 30s);
    spec.key = Key(i);
    spec.insert = Body::FromJson({{"n", 0}});
    held.push_back(Acquire(manager.engine(), std::move(spec), {}).grant);
  }
  while (store->renewed() < kHeld) std::this_thread::sleep_for(5ms);
  EXPECT_LE(store->most(), 2);
  for (const Grant& grant : held) EXPECT_FALSE(grant.lease->lost());
}

}  // namespace
}  // namespace doclock::detail
