#include <gmock/gmock.h>

#include <climits>
#include <stdexcept>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

using std::chrono::nanoseconds;
using ::testing::_;
using ::testing::AtLeast;
using ::testing::Eq;
using ::testing::InSequence;
using ::testing::Mock;
using ::testing::StrictMock;
using ::testing::Throw;

class MockObserver : public Observer {
 public:
  MOCK_METHOD(void, OnGranted, (const LockEvent&, nanoseconds waited, bool handed_over),
              (override));
  MOCK_METHOD(void, OnBusy, (const LockEvent&, Errc code, const LockHolder& holder), (override));
  MOCK_METHOD(void, OnRenewed, (const LockEvent&), (override));
  MOCK_METHOD(void, OnRenewalFailing, (const LockEvent&, nanoseconds remaining), (override));
  MOCK_METHOD(void, OnLost, (const LockEvent&), (override));
  MOCK_METHOD(void, OnReleased, (const LockEvent&, nanoseconds held), (override));
  MOCK_METHOD(void, OnDiscarded, (const LockEvent&, nanoseconds held), (override));
  MOCK_METHOD(void, OnInDoubt, (const LockEvent&), (override));
};

MATCHER_P(Of, key, "") { return arg.collection == "orders" && arg.key == Key(key); }
MATCHER_P(By, owner, "") { return arg.name == owner; }

/// Every event that comes is one that was expected.
class ObserverTest : public EngineTest {
 protected:
  using Mocked = StrictMock<MockObserver>;
  explicit ObserverTest(std::shared_ptr<Mocked> mock = std::make_shared<Mocked>())
      : EngineTest({.observer = mock}), observer(std::move(mock)) {}

  /// Locks through another manager, which has no observer.
  Grant LockElsewhere(const Key& key, LockOptions options = {}) {
    AcquireSpec spec = Spec(key, options);
    return std::move(Acquire(other_.engine(), std::move(spec), {}).grant);
  }
  /// A lock whose grant was told and is not of interest.
  Grant LockQuietly(const Key& key, LockOptions options = {}) {
    EXPECT_CALL(*observer, OnGranted(Of(key), 0ns, false));
    Grant grant = Lock(key, options);
    clock->RunPending();
    Mock::VerifyAndClearExpectations(observer.get());
    return grant;
  }
  FailurePtr Discard(Grant& grant) { return Write(grant.lease, WriteKind::kRelease, Body()); }

  std::shared_ptr<Mocked> observer;

 private:
  LockManager other_{store, {.runtime = clock->runtime()}};
};

TEST_F(ObserverTest, IsToldOfAGrantAndOfItsRelease) {
  const InSequence sequence;
  EXPECT_CALL(*observer, OnGranted(Of("a"), 0ns, false));
  EXPECT_CALL(*observer, OnReleased(Of("a"), Eq(5s)));
  Grant held = Lock("a");
  clock->Advance(5s);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfAGrantThatWasWaitedFor) {
  Grant held = LockElsewhere("a");
  auto waiting = LockLater("a", {.wait = kForever});
  clock->Advance(3s);
  EXPECT_CALL(*observer, OnGranted(Of("a"), Eq(3s), false));
  ASSERT_FALSE(Discard(held));
  clock->RunPending();
  ASSERT_TRUE(waiting->granted());
  EXPECT_CALL(*observer, OnReleased(Of("a"), 0ns));
  ASSERT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 1}}));
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfAHandOverAfterTheReleaseItCameWith) {
  Grant held = LockQuietly("a", {.ttl = 1h});
  auto waiting = LockLater("a", {.wait = kForever});
  clock->Advance(3s);
  {
    const InSequence sequence;
    EXPECT_CALL(*observer, OnReleased(Of("a"), Eq(3s)));
    EXPECT_CALL(*observer, OnGranted(Of("a"), Eq(3s), true));
    EXPECT_CALL(*observer, OnReleased(Of("a"), Eq(1s)));
  }
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  ASSERT_TRUE(waiting->granted());
  clock->Advance(1s);
  ASSERT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 2}}));
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfEachCallerThatWasToldBusy) {
  Grant held = LockElsewhere("a", {.owner = "first"});
  EXPECT_CALL(*observer, OnBusy(Of("a"), Errc::kBusy, By("first"))).Times(2);
  EXPECT_EQ(TryLock("a"), Errc::kBusy);
  EXPECT_EQ(LockLater("a")->code(), Errc::kBusy);
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfAWaitThatEnded) {
  Grant held = LockElsewhere("a", {.ttl = 1h, .owner = "first"});
  EXPECT_CALL(*observer, OnBusy(Of("a"), Errc::kTimedOut, By("first")));
  EXPECT_EQ(TryLock("a", {.wait = 5s}), Errc::kTimedOut);
  clock->RunPending();
  auto waiting = LockLater("a", {.wait = kForever});
  EXPECT_CALL(*observer, OnBusy(Of("a"), Errc::kCancelled, By("first")));
  CancelAcquire(waiting->handle);
  clock->RunPending();
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
}

TEST_F(ObserverTest, IsNotToldWhenAWaiterLooksAgain) {
  Grant held = LockElsewhere("a", {.ttl = 1h});
  auto first = LockLater("a", {.wait = kForever});
  auto second = LockLater("a", {.wait = kForever});
  store->Reset();
  clock->Advance(10s);
  EXPECT_GT(store->Count(OpKind::kAcquire), 5);
  Mock::VerifyAndClearExpectations(observer.get());
  EXPECT_CALL(*observer, OnBusy(Of("a"), Errc::kCancelled, _)).Times(2);
  manager->Close();
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfEachRenewal) {
  Grant held = LockQuietly("a", {.ttl = 12s});
  EXPECT_CALL(*observer, OnRenewed(Of("a"))).Times(3);
  clock->Advance(13s);
  EXPECT_CALL(*observer, OnReleased(Of("a"), Eq(13s)));
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldWhatIsLeftWhenARenewalFails) {
  Grant held = LockQuietly("a", {.ttl = 12s});
  Strike(Fault::Kind::kErrorBefore, OpKind::kRenew, 2);
  {
    const InSequence sequence;
    EXPECT_CALL(*observer, OnRenewalFailing(Of("a"), Eq(8s)));
    EXPECT_CALL(*observer, OnRenewalFailing(Of("a"), Eq(7s)));
    EXPECT_CALL(*observer, OnRenewed(Of("a")));
    EXPECT_CALL(*observer, OnReleased(Of("a"), Eq(7s)));
  }
  clock->Advance(7s);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOnceOfALoss) {
  Grant broken = LockQuietly("a", {.ttl = 9s});
  testing::BreakLock(*store, "orders", "a");
  EXPECT_CALL(*observer, OnLost(Of("a")));
  clock->Advance(1min);
  EXPECT_EQ(ReleaseWith(broken, {{"n", 1}})->code, Errc::kLost);
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfALossWhenTheStoreStaysAway) {
  Grant held = LockQuietly("a", {.ttl = 12s});
  Strike(Fault::Kind::kErrorBefore, OpKind::kRenew, INT_MAX);
  const InSequence sequence;
  EXPECT_CALL(*observer, OnRenewalFailing(Of("a"), _)).Times(AtLeast(2));
  EXPECT_CALL(*observer, OnLost(Of("a")));
  clock->Advance(1min);
}

TEST_F(ObserverTest, IsToldOfALossByClosing) {
  Grant held = LockQuietly("a");
  EXPECT_CALL(*observer, OnLost(Of("a")));
  manager->Close();
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfAnEraseAsOfARelease) {
  Grant held = LockQuietly("a");
  EXPECT_CALL(*observer, OnReleased(Of("a"), 0ns));
  ASSERT_FALSE(Write(held.lease, WriteKind::kErase, Body()));
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfADiscard) {
  Grant held = LockQuietly("a", {.ttl = 1h});
  clock->Advance(2s);
  EXPECT_CALL(*observer, OnDiscarded(Of("a"), Eq(2s)));
  ASSERT_FALSE(Discard(held));
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfAHandleThatWentOutOfScope) {
  { Grant dropped = LockQuietly("a"); }
  EXPECT_CALL(*observer, OnDiscarded(Of("a"), 0ns));
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfAHandleThatWentOutOfScopeWhileTheStoreWasAway) {
  { Grant dropped = LockQuietly("a"); }
  Strike(Fault::Kind::kErrorBefore, OpKind::kWrite, 3);
  EXPECT_CALL(*observer, OnDiscarded(Of("a"), 0ns));
  clock->Advance(1min);
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(ObserverTest, IsToldNothingOfACheckpointARefusalOrADetach) {
  Grant held = LockQuietly("a");
  ASSERT_FALSE(Write(held.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 1}})));
  Strike(Fault::Kind::kRefused, OpKind::kWrite);
  EXPECT_EQ(ReleaseWith(held, {{"n", 2}})->code, Errc::kRefused);
  ASSERT_FALSE(Detach(held.lease));
  clock->Advance(1min);
}

TEST_F(ObserverTest, IsToldOfDoubt) {
  Grant held = LockQuietly("a", {.ttl = 5s, .renew = false});
  EXPECT_CALL(*observer, OnInDoubt(Of("a")));
  Strike(Fault::Kind::kLostBefore, OpKind::kWrite, INT_MAX);
  EXPECT_EQ(ReleaseWith(held, {{"n", 1}})->code, Errc::kInDoubt);
  store->Heal();
  EXPECT_CALL(*observer, OnInDoubt(Of("b")));
  Strike(Fault::Kind::kLostBefore, OpKind::kAcquire);
  EXPECT_EQ(TryLock("b"), Errc::kInDoubt);
  EXPECT_CALL(*observer, OnInDoubt(Of("c")));
  Strike(Fault::Kind::kLostBefore, OpKind::kSave);
  SaveSpec insert;
  insert.collection = collection;
  insert.key = "c";
  insert.save = SaveKind::kInsert;
  insert.body = Body::FromJson({{"n", 1}});
  EXPECT_EQ(Save(engine(), std::move(insert)).failure->code, Errc::kInDoubt);
  clock->RunPending();
}

TEST_F(ObserverTest, IsToldOfADetachInDoubt) {
  Grant held = LockQuietly("a", {.ttl = 5s});
  EXPECT_CALL(*observer, OnInDoubt(Of("a")));
  Strike(Fault::Kind::kLostBefore, OpKind::kRenew, INT_MAX);
  EXPECT_EQ(Detach(held.lease)->code, Errc::kInDoubt);
  clock->RunPending();
}

TEST_F(ObserverTest, MayThrow) {
  EXPECT_CALL(*observer, OnGranted(_, _, _)).Times(2).WillRepeatedly(Throw(std::runtime_error("")));
  EXPECT_CALL(*observer, OnBusy(_, _, _)).WillOnce(Throw(1));
  EXPECT_CALL(*observer, OnRenewed(_)).WillOnce(Throw(1));
  EXPECT_CALL(*observer, OnReleased(_, _)).WillOnce(Throw(1));
  EXPECT_CALL(*observer, OnLost(_)).WillOnce(Throw(1));
  Grant held = Lock("a", {.ttl = 12s});
  EXPECT_EQ(TryLock("a"), Errc::kBusy);
  clock->Advance(5s);
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
  EXPECT_EQ(Stored("a").body.json()["n"], 1);
  Grant lost = Lock("a", {.ttl = 12s, .renew = false});
  clock->Advance(12s);
  EXPECT_TRUE(LeaseLost(lost.lease).stop_requested());
}

TEST_F(ObserverTest, MayCallTheLibrary) {
  const InSequence sequence;
  EXPECT_CALL(*observer, OnGranted(Of("a"), _, _));
  EXPECT_CALL(*observer, OnReleased(Of("a"), _)).WillOnce([&](const LockEvent&, nanoseconds) {
    Grant audit = Lock("audit");
    EXPECT_FALSE(ReleaseWith(audit, {{"n", 9}}));
  });
  EXPECT_CALL(*observer, OnGranted(Of("audit"), _, _));
  EXPECT_CALL(*observer, OnReleased(Of("audit"), _));
  Grant held = Lock("a");
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_EQ(Stored("audit").body.json()["n"], 9);
}

}  // namespace
}  // namespace doclock::detail
