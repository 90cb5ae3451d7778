/// Each grant that the Observer is told of ends once, and so does each wait.

#include <climits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

using std::chrono::nanoseconds;

class Pairs : public Observer {
 public:
  void OnGranted(const LockEvent&, nanoseconds, bool) override { ++granted, Check(); }
  void OnEnded(const LockEvent&) override { ++ended, Check(); }
  void OnWaiting(const LockEvent&) override { ++waiting, Check(); }
  void OnWaitEnded(const LockEvent&) override { ++waited, Check(); }
  void OnMissed(std::uint64_t calls) override { missed += calls; }
  void OnLost(const LockEvent&) override { ++lost; }
  void OnReleased(const LockEvent&, nanoseconds) override {
    if (at_release) std::exchange(at_release, nullptr)();
  }

  std::function<void()> at_release;
  int granted = 0, ended = 0, waiting = 0, waited = 0, lost = 0;
  std::uint64_t missed = 0;

 private:
  void Check() const {
    EXPECT_LE(ended, granted);
    EXPECT_LE(waited, waiting);
  }
};

class ObserverPairsTest : public EngineTest {
 protected:
  explicit ObserverPairsTest(std::shared_ptr<Pairs> pairs = std::make_shared<Pairs>())
      : EngineTest({.observer = pairs}), told(std::move(pairs)) {}

  static FailurePtr Discard(Grant& grant) {
    return Write(grant.lease, WriteKind::kRelease, Body());
  }
  /// So many were told to begin, and all of them to end.
  void ExpectEnded(int grants, int waits = 0) {
    clock->RunPending();
    EXPECT_EQ(told->granted, grants);
    EXPECT_EQ(told->ended, grants);
    EXPECT_EQ(told->waiting, waits);
    EXPECT_EQ(told->waited, waits);
  }

  std::shared_ptr<Pairs> told;
};

/// A way for a handle to end, and whether its lock is shared.
using Ending = std::tuple<std::string, LockMode>;

class HandleEndsTest : public ObserverPairsTest, public ::testing::WithParamInterface<Ending> {
 protected:
  void EndBy(std::string_view way, Grant& held) {
    if (way == "save") {
      EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
    }
    if (way == "erase") {
      EXPECT_FALSE(Write(held.lease, WriteKind::kErase, Body()));
    }
    if (way == "discard") {
      EXPECT_FALSE(Discard(held));
    }
    if (way == "drop") held = {};
    if (way == "detach") {
      EXPECT_FALSE(Detach(held.lease));
    }
    if (way == "close") manager->Close();
    if (way == "break") testing::BreakLock(*store, "orders", "a");
    if (way == "refused") {
      Strike(Fault::Kind::kRefused, OpKind::kWrite, 1);
      EXPECT_EQ(Discard(held)->code, Errc::kRefused);
      clock->RunPending();
      EXPECT_EQ(told->ended, 0) << "it is still held";
      EXPECT_FALSE(Discard(held));
    }
    if (way == "doubt" || way == "doubtful save") {
      Strike(Fault::Kind::kLostBefore, OpKind::kWrite, INT_MAX);
      const bool save = way == "doubtful save";
      const Body body = save ? Body::FromJson({{"n", 1}}) : Body();
      const auto kind = save ? WriteKind::kCheckpoint : WriteKind::kRelease;
      EXPECT_EQ(Write(held.lease, kind, body)->code, Errc::kInDoubt);
    }
    if (way == "doubtful detach") {
      Strike(Fault::Kind::kLostBefore, OpKind::kRenew, INT_MAX);
      EXPECT_EQ(Detach(held.lease)->code, Errc::kInDoubt);
    }
    if (way == "drop while the store is away") {
      Strike(Fault::Kind::kErrorBefore, OpKind::kWrite, 3);
      held = {};
    }
    if (way == "outage") Strike(Fault::Kind::kErrorBefore, OpKind::kRenew, INT_MAX);
    if (way == "close while it is released") {
      store->before_reply = [this](auto) {
        store->before_reply = nullptr;
        manager->Close();
      };
      WriteAsync(held.lease, WriteKind::kRelease, Body(), [](FailurePtr) {});
    }
  }
};

TEST_P(HandleEndsTest, OnceForTheObserver) {
  const auto [way, mode] = GetParam();
  Grant held =
      Lock("a", mode == LockMode::kShared ? LockOptions{.ttl = 9s, .mode = mode, .max_holders = 5}
                                          : LockOptions{.ttl = 9s});
  clock->RunPending();
  ASSERT_EQ(told->granted, 1);
  ASSERT_EQ(told->ended, 0);
  EndBy(way, held);
  clock->Advance(1min);
  ExpectEnded(1);
  held = {};
  clock->Advance(1min);
  manager->Close();
  ExpectEnded(1);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, HandleEndsTest,
    ::testing::Combine(::testing::Values("discard", "drop", "detach", "close", "break", "outage",
                                         "refused", "doubt", "doubtful detach",
                                         "drop while the store is away",
                                         "close while it is released"),
                       ::testing::Values(LockMode::kExclusive, LockMode::kShared)));
INSTANTIATE_TEST_SUITE_P(OfOneHolder, HandleEndsTest,
                         ::testing::Combine(::testing::Values("save", "erase", "doubtful save"),
                                            ::testing::Values(LockMode::kExclusive)));

TEST_F(ObserverPairsTest, AHandOverEndsOneHandleAndOneWait) {
  Grant first = Lock("a", {.ttl = 1h});
  auto second = LockLater("a", {.wait = kForever});
  EXPECT_EQ(told->waiting, 1);
  EXPECT_EQ(told->waited, 0);
  ASSERT_FALSE(Discard(first));
  ASSERT_TRUE(second->granted());
  clock->RunPending();
  EXPECT_EQ(told->granted - told->ended, 1);
  second->result.reset();
  ExpectEnded(2, 1);
}

TEST_F(ObserverPairsTest, AWaitEndsOnceHoweverItDoes) {
  Grant held = Lock("a", {.ttl = 1h});
  EXPECT_EQ(TryLock("a", {.wait = 1s}), Errc::kTimedOut);
  auto cancelled = LockLater("a", {.wait = kForever});
  CancelAcquire(cancelled->handle);
  auto closed = LockLater("a", {.wait = kForever});
  auto away = LockLater("a", {.wait = 1min});
  Strike(Fault::Kind::kErrorBefore, OpKind::kAcquire, INT_MAX);
  clock->Advance(2min);
  EXPECT_EQ(away->code(), Errc::kUnavailable);
  store->Heal();
  EXPECT_EQ(told->waiting - told->waited, 1);
  manager->Close();
  EXPECT_TRUE(closed->code());
  ExpectEnded(1, 4);
}

TEST_F(ObserverPairsTest, ACallerThatDoesNotWaitBeginsNoWait) {
  Grant held = Lock("a", {.ttl = 1h});
  EXPECT_EQ(TryLock("a"), Errc::kBusy);
  EXPECT_EQ(LockLater("a")->code(), Errc::kBusy);
  ASSERT_FALSE(Discard(held));
  EXPECT_FALSE(TryLock("a", {.wait = 1h})) << "it was free";
  ExpectEnded(2);
}

TEST_F(ObserverPairsTest, ASearchWaitsToo) {
  AcquireSpec spec = MakeSpec(engine(), *collection, {.wait = 1min}, 30s);
  std::optional<AcquireResult> found;
  AcquireNextAsync(engine(), std::move(spec),
                   [&](AcquireResult result) { found = std::move(result); });
  clock->Advance(10s);
  EXPECT_EQ(told->waiting - told->waited, 1);
  clock->Advance(1min);
  ASSERT_TRUE(found);
  ExpectEnded(0, 1);
}

TEST_F(ObserverPairsTest, AReleaseEndsWhatRenewalsSay) {
  Grant held = Lock("a", {.ttl = 9s});
  BeforeReply(OpKind::kRenew, [&] { ASSERT_FALSE(Discard(held)); });
  clock->Advance(30s);
  EXPECT_EQ(told->lost, 0);
  ExpectEnded(1);
}

TEST_F(ObserverPairsTest, TheObserverMayCallTheLibrary) {
  told->at_release = [this] {
    Grant audit = Lock("audit");
    EXPECT_FALSE(ReleaseWith(audit, {{"n", 9}}));
  };
  Grant held = Lock("a");
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  ExpectEnded(2);
  EXPECT_EQ(Stored("audit").body.json()["n"], 9);
}

/// The engine releases a lock that came after its caller had gone.
TEST_F(ObserverPairsTest, AGrantThatCameTooLateForItsCallerDoesNotEnd) {
  store->lanes = 4;
  HoldUp(OpKind::kAcquire, 20s);
  EXPECT_EQ(LockLater("a", {.ttl = 10s, .wait = 0s})->code(), Errc::kUnavailable);
  clock->Advance(1min);
  ExpectEnded(0);
}

TEST_F(ObserverPairsTest, AnEndIsLeftOutWhereItsBeginningWas) {
  Grant before = Lock("before", {.ttl = 1h});
  Grant busy = Lock("busy", {.ttl = 1h});
  clock->RunPending();
  for (int i = 0; i < 11'000; ++i) EXPECT_EQ(TryLock("busy"), Errc::kBusy);
  Grant after = Lock("after", {.ttl = 1h});
  ASSERT_FALSE(Discard(after));
  ASSERT_FALSE(Discard(before));
  clock->RunPending();
  EXPECT_EQ(told->missed, 1000U + 3U) << "and the grant and two discards";
  EXPECT_EQ(told->granted, 2);
  EXPECT_EQ(told->ended, 1);
}

TEST_F(ObserverPairsTest, NothingIsMissedByAnObserverThatKeepsUp) {
  constexpr int kGrants = 4'000;  // three events each
  for (int i = 0; i < kGrants; ++i) {
    Grant held = Lock("a");
    ASSERT_FALSE(Discard(held));
    clock->RunPending();
  }
  EXPECT_EQ(told->missed, 0U);
  ExpectEnded(kGrants);
}

}  // namespace
}  // namespace doclock::detail
