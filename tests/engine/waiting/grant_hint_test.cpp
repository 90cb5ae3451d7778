/// A hint that tells of a grant settles its waiter without a request, but only if it is surely a
/// grant after the waiter's last entry. Otherwise the store is asked.

#include <utility>
#include <vector>

#include "engine/support/shared_store.h"

namespace doclock::detail {
namespace {

/// Gives the hints that the test wants, when it wants.
class ToldStore final : public SharedStore {
 public:
  using SharedStore::SharedStore;
  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits = SharedStore::traits();
    traits.reads_apart = reads_apart;
    return traits;
  }
  std::unique_ptr<Subscription> Watch(Collection& watched, HintListener told) override {
    listener = std::move(told);
    return SharedStore::Watch(watched, [this](const LockHint& hint) {
      if (hint.grant) held_back.push_back(hint);
    });
  }
  bool reads_apart = false;
  HintListener listener;
  std::vector<LockHint> held_back;  ///< Those of the store that tell of grants.
};

class GrantHint : public EngineTest {
 protected:
  explicit GrantHint(bool reads_apart = false) {
    told->reads_apart = reads_apart;
    store = told;
    manager.emplace(store, ManagerOptions{.poll_min = 1h, .poll_max = 1h, .runtime = runtime_});
    collection = store->Open("orders", {}, 30s).get();
    held_ = Hold(1h);
    waiting_ = LockLater("a", {.wait = kForever});
    entered_ = clock->Now();
    store->Reset();
  }
  /// A lock of another process.
  AcquireOp Hold(std::chrono::milliseconds ttl) {
    return Other().Acquire(key_, {.insert = Body::FromJson({{"n", 0}}), .ttl = ttl});
  }
  /// The other process releases, and the store grants the lock to the waiter. Returns the hint.
  LockHint PassOn() {
    Other().Release(key_, held_.request.grant.lock_id, {.body = Body::FromJson({{"n", 7}})});
    EXPECT_FALSE(told->held_back.empty());
    store->Reset();
    return told->held_back.back();
  }
  void Tell(const LockHint& hint) {
    told->listener(hint);
    clock->RunPending();
  }
  /// Without another attempt. Its lease counts from its entry.
  void ExpectGrantedBy(const LockHint& hint) {
    Tell(hint);
    ASSERT_TRUE(waiting_->granted());
    EXPECT_EQ(asked(), 0);
    EXPECT_EQ(LeaseFence(lease()), 2);
    EXPECT_EQ(waiting_->result->grant.body.json()["n"], 7);
    EXPECT_TRUE(lease().on_probation());
    EXPECT_LE(lease().deadline(), entered_ + 5s);
  }
  [[nodiscard]] int asked() const { return store->Count(OpKind::kAcquire); }
  Lease& lease() { return *waiting_->result->grant.lease; }

  const Key key_{"a"};
  std::shared_ptr<Runtime> runtime_ = clock->runtime();
  std::shared_ptr<ToldStore> told = std::make_shared<ToldStore>(OpenMemoryStore({.clock = clock}));
  AcquireOp held_{*collection, key_};
  std::shared_ptr<Waiting> waiting_;
  TimePoint entered_;
};

TEST_F(GrantHint, SettlesTheWaiterWithoutARequest) {
  clock->Advance(500ms);
  ExpectGrantedBy(PassOn());
  EXPECT_FALSE(ReleaseWith(waiting_->result->grant, {{"n", 8}}));
  EXPECT_EQ(Stored(key_).version, 3);
}

TEST_F(GrantHint, ThatIsLostIsFoundByTheNextAttempt) {
  PassOn();
  clock->Advance(2s);
  ASSERT_TRUE(waiting_->granted());
  EXPECT_EQ(asked(), 1);
}

TEST_F(GrantHint, ThatComesTwiceSettlesOneWaiter) {
  const auto second = LockLater("a", {.wait = kForever});
  const LockHint hint = PassOn();
  Tell(hint);
  Tell(hint);
  ASSERT_TRUE(waiting_->granted());
  EXPECT_FALSE(second->result);
  ASSERT_FALSE(ReleaseWith(waiting_->result->grant, {{"n", 8}}));  // which hands over
  ASSERT_TRUE(second->granted());
  const auto third = LockLater("a", {.wait = kForever});
  Tell(hint);
  EXPECT_FALSE(third->result);
}

/// The grant was over when the waiter placed its entry anew.
TEST_F(GrantHint, OfAGrantBeforeTheLastEntryIsNotBelieved) {
  LockHint hint = PassOn();
  const Uuid entry = hint.grant->lock_id;
  testing::StealLock(*store, "orders", key_);  // over before it knew
  clock->Advance(2s);                          // it has placed its entry anew
  ASSERT_FALSE(waiting_->result);
  store->Reset();
  Tell(hint);
  EXPECT_FALSE(waiting_->result);
  EXPECT_EQ(asked(), 1) << "the store is asked";
  EXPECT_EQ(hint.grant->lock_id, entry);
}

TEST_F(GrantHint, OfAnotherIncarnationIsNotBelieved) {
  LockHint hint = PassOn();
  for (const Uuid& born : {NewUuid(), Uuid{}}) {
    store->Inject({.op = OpKind::kAcquire});
    hint.grant->born = born;
    Tell(hint);
    EXPECT_FALSE(waiting_->result);
    EXPECT_EQ(asked(), 1);
    store->Reset();
  }
}

TEST_F(GrantHint, OfAVersionThatTheWaiterHadMetIsNotBelieved) {
  LockHint hint = PassOn();
  store->Inject({.op = OpKind::kAcquire});
  hint.grant->version = held_.result.version;
  Tell(hint);
  EXPECT_FALSE(waiting_->result);
  EXPECT_EQ(asked(), 1);
}

TEST_F(GrantHint, WithoutTheBodyMakesTheWaiterAsk) {
  std::vector<bool> seem;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kAcquire) return;
    seem.push_back(static_cast<const AcquireOp&>(*ops.front()).request.seems_granted);
  });
  LockHint hint = PassOn();
  hint.grant = GrantSeen{};  // as a store tells it that knows the document alone
  Tell(hint);
  ASSERT_TRUE(waiting_->granted());
  store->OnExecute({});
  EXPECT_EQ(seem, std::vector{true});
  EXPECT_EQ(waiting_->result->grant.body.json()["n"], 7);
}

class GrantHintApart : public GrantHint {
 protected:
  GrantHintApart() : GrantHint(/*reads_apart=*/true) {}
};

TEST_F(GrantHintApart, WithoutTheBodyIsSettledByARead) {
  clock->Advance(500ms);
  LockHint hint = PassOn();
  hint.grant = GrantSeen{};
  ExpectGrantedBy(hint);
  EXPECT_EQ(store->Count(OpKind::kRead), 1);
}

TEST_F(GrantHintApart, ThatIsNotTrueMakesTheWaiterAsk) {
  Tell({key_.Hash(), GrantSeen{}});
  EXPECT_FALSE(waiting_->result);
  EXPECT_EQ(store->Count(OpKind::kRead), 1);
  EXPECT_EQ(asked(), 1);
}

TEST_F(GrantHintApart, WhoseReadFailsMakesTheWaiterAsk) {
  LockHint hint = PassOn();
  hint.grant = GrantSeen{};
  store->Inject({.op = OpKind::kRead});
  Tell(hint);
  ASSERT_TRUE(waiting_->granted());
  EXPECT_EQ(asked(), 1);
}

TEST_F(GrantHint, ForAnotherMakesTheFirstAskAsEver) {
  LockHint hint = PassOn();
  hint.grant->lock_id = NewUuid();
  Tell(hint);
  EXPECT_TRUE(waiting_->granted());
  EXPECT_EQ(asked(), 1);
}

TEST_F(GrantHint, BeforeTheAnswerThatItWaitsCountsAfterIt) {
  BeforeReply(OpKind::kAcquire, [&] {
    told->listener(PassOn());
    EXPECT_FALSE(waiting_->result) << "its attempt is under way";
  });
  clock->Advance(2s);  // it refreshes its entry
  ASSERT_TRUE(waiting_->granted());
  EXPECT_EQ(asked(), 0) << "the hint has told all";
}

TEST_F(GrantHint, WhileAnAttemptIsToldTheSameSettlesOnce) {
  const LockHint hint = PassOn();
  BeforeReply(OpKind::kAcquire, [&] { told->listener(hint); });
  clock->Advance(2s);
  ASSERT_TRUE(waiting_->granted());
  EXPECT_EQ(LeaseFence(lease()), 2);
  const Uuid id = lease().lock_id;
  clock->Advance(1min);
  EXPECT_TRUE(LeaseHeld(lease())) << "it was given back by nobody";
  EXPECT_EQ(lease().lock_id, id);
}

TEST_F(GrantHint, ThatNobodyWaitsForAnyMoreIsDropped) {
  waiting_->handle->End(Errc::kCancelled);
  const LockHint hint = PassOn();  // before its entry is removed
  Tell(hint);
  clock->Advance(1s);
  EXPECT_EQ(waiting_->code(), Errc::kCancelled);
  EXPECT_FALSE(IsLocked(key_)) << "the lock is given back";
}

TEST_F(GrantHint, ThatComesWhenTheLeaseIsOverGivesTheLockBack) {
  const LockHint hint = PassOn();
  clock->Jump(6s);  // the process was stopped
  told->listener(hint);
  clock->Advance(2s);
  ASSERT_TRUE(waiting_->granted());
  EXPECT_GT(LeaseFence(lease()), 2) << "granted anew";
  EXPECT_LT(lease().deadline(), clock->Now() + 30s);
}

TEST_F(GrantHint, IsNoReasonForASearchToAsk) {
  const auto search = NextLater(Search("n", 5, {.wait = kForever}));
  Tell(PassOn());
  EXPECT_TRUE(waiting_->granted());
  EXPECT_EQ(asked(), 0);
  CancelAcquire(search->handle);
}

}  // namespace
}  // namespace doclock::detail
