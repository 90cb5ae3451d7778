/// Waiters of this process hear of local releases whether or not the store has hints.

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// A store that tells nothing.
class SilentStore : public TestStore {
 public:
  using TestStore::TestStore;
  std::unique_ptr<Subscription> Watch(Collection&, HintListener) override {
    if (on_watch) on_watch();
    return nullptr;
  }
  std::function<void()> on_watch;
};

class LocalReleaseTest : public EngineTest {
 protected:
  LocalReleaseTest() : EngineTest({.poll_min = 1h, .poll_max = 1h}) {
    silent = std::make_shared<SilentStore>(OpenMemoryStore({.clock = clock}));
    store = silent;
    manager.emplace(store, ManagerOptions{.poll_min = 1h, .poll_max = 1h, .runtime = runtime});
    collection = store->Open("orders", {}, 30s).get();
  }
  std::shared_ptr<Waiting> SearchLater() {
    AcquireSpec spec = MakeSpec(engine(), *collection, {.wait = kForever}, 30s);
    spec.filter.AtMost("n", 100);
    return NextLater(std::move(spec));
  }

  std::shared_ptr<SilentStore> silent;
};

TEST_F(LocalReleaseTest, ASearchHearsOfARelease) {
  Grant held = Lock("a");
  const auto waiting = SearchLater();
  EXPECT_FALSE(waiting->result);
  const TimePoint before = clock->Now();
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_TRUE(waiting->granted());
  EXPECT_EQ(clock->Now(), before);
}

TEST_F(LocalReleaseTest, AStoreWhoseWatchThrowsIsAskedAllTheSame) {
  silent->on_watch = [] { throw StoreException(Errc::kUnavailable, "no hints today"); };
  Grant held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  const auto search = SearchLater();
  EXPECT_FALSE(waiting->result || search->result);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_TRUE(waiting->granted());
}

/// The store has a second for its first answer, and a release of this process counts for one.
TEST_F(LocalReleaseTest, AShortWaitBehindAReleaseThatTakesLongerIsNoOutage) {
  ASSERT_TRUE(store->traits().immediate);
  Grant held = Lock("a");
  std::shared_ptr<Waiting> waiting;
  BeforeReply(OpKind::kWrite, [&] {
    waiting = LockLater("a", {.wait = 5ms});
    clock->Advance(30ms);
  });
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_TRUE(waiting->granted());
}

TEST_F(LocalReleaseTest, ASearchHearsOfADroppedHandle) {
  std::optional<Grant> held = Lock("a");
  const auto waiting = SearchLater();
  held.reset();
  clock->RunPending();
  EXPECT_TRUE(waiting->granted());
}

TEST_F(LocalReleaseTest, ASearchHearsOfAReleaseByValue) {
  const Grant held = Lock("a");
  const auto waiting = SearchLater();
  ASSERT_FALSE(ReleaseByValue(engine(), ReleaseOf(held)));
  clock->RunPending();
  EXPECT_TRUE(waiting->granted());
}

TEST_F(LocalReleaseTest, ASearchSubscribesBeforeItAsks) {
  std::optional<Grant> held = Lock("a");
  int asked = 0;
  silent->on_watch = [&] { asked = store->Count(OpKind::kAcquire); };
  store->Reset();
  const auto waiting = SearchLater();
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(store->Count(OpKind::kAcquire), 1);
}

TEST_F(LocalReleaseTest, AWaiterThatCameDuringAReleaseHearsOfIt) {
  Grant held = Lock("a");
  std::shared_ptr<Waiting> waiting;
  // It finds the lock busy, and waits.
  Before(OpKind::kWrite, [&] { waiting = LockLater("a", {.wait = kForever}); });
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  ASSERT_TRUE(waiting);
  EXPECT_TRUE(waiting->granted());
}

TEST_F(LocalReleaseTest, AWaiterHearsOfAReleaseThatOthersGaveUpWaitingFor) {
  runtime = clock->runtime();  // the fixture's has ended with its first manager, and has no timers
  manager.emplace(store, ManagerOptions{.poll_min = 1h, .poll_max = 1h, .runtime = runtime});
  Grant held = Lock("a");
  // A share: it is not handed over, so its wait may end during the release.
  const auto gone = LockLater("a", {.wait = 1s, .mode = LockMode::kShared});
  std::shared_ptr<Waiting> waiting;
  Before(OpKind::kWrite, [&] {
    clock->Advance(2s);
    waiting = LockLater("a", {.wait = kForever});
  });
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_EQ(gone->code(), Errc::kTimedOut);
  ASSERT_TRUE(waiting);
  EXPECT_TRUE(waiting->granted());
}

}  // namespace
}  // namespace doclock::detail
