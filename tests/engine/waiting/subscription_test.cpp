/// The subscription to the store's hints lasts as long as callers wait, and a second longer.

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// Counts the subscriptions that have not ended.
class SubscribedStore final : public TestStore {
 public:
  using TestStore::TestStore;
  std::unique_ptr<Subscription> Watch(Collection& watched, HintListener listener) override {
    if (refusals > 0 && refusals-- > 0) return nullptr;
    return std::make_unique<Counted>(*this, TestStore::Watch(watched, std::move(listener)));
  }
  int subscriptions = 0;
  int refusals = 0;  ///< So many times it has no hints.

 private:
  class Counted final : public Subscription {
   public:
    Counted(SubscribedStore& store, std::unique_ptr<Subscription> inner)
        : store_(store), inner_(std::move(inner)) {
      ++store_.subscriptions;
    }
    ~Counted() override { --store_.subscriptions; }

   private:
    SubscribedStore& store_;
    const std::unique_ptr<Subscription> inner_;
  };
};

class SubscriptionTest : public EngineTest {
 protected:
  SubscriptionTest() {
    store = subscribed;
    runtime = clock->runtime();  // the fixture's has ended with its first manager
    manager.emplace(store, ManagerOptions{.poll_min = 1min, .poll_max = 1min, .runtime = runtime});
    collection = store->Open("orders", {}, 30s).get();
  }
  std::shared_ptr<Waiting> SearchFor(int n, Duration wait) {
    return NextLater(Search("n", n, {.wait = wait}));
  }
  /// Releases a document that no caller waits for: a hint for searches.
  void Hint() {
    Grant other = Lock("other");
    EXPECT_FALSE(ReleaseWith(other, {{"n", 0}}));
    clock->RunPending();
  }

  std::shared_ptr<SubscribedStore> subscribed =
      std::make_shared<SubscribedStore>(OpenMemoryStore({.clock = clock}));
};

TEST_F(SubscriptionTest, EndsAfterTheLastWaiter) {
  Grant held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  EXPECT_EQ(subscribed->subscriptions, 1);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  ASSERT_TRUE(waiting->granted());
  clock->Advance(2s);
  EXPECT_EQ(subscribed->subscriptions, 0);
  EXPECT_FALSE(engine()->waits().hints().Heard(*collection));
}

TEST_F(SubscriptionTest, IsAskedForAgainIfTheStoreHadNone) {
  subscribed->refusals = 1;
  const Grant held = Lock("a");
  const auto first = LockLater("a", {.wait = kForever});
  const auto second = LockLater("a", {.wait = kForever});
  EXPECT_EQ(subscribed->subscriptions, 0);
  clock->Advance(6s);
  const auto third = LockLater("a", {.wait = kForever});
  EXPECT_EQ(subscribed->subscriptions, 1);
  EXPECT_TRUE(engine()->waits().hints().Heard(*collection));
}

TEST_F(SubscriptionTest, EndsAfterTheLastSearch) {
  const auto search = SearchFor(7, kForever);
  EXPECT_EQ(subscribed->subscriptions, 1);
  CancelAcquire(search->handle);
  clock->Advance(2s);
  EXPECT_EQ(search->code(), Errc::kCancelled);
  EXPECT_EQ(subscribed->subscriptions, 0);
}

TEST_F(SubscriptionTest, LastsWhenASearchThatDidNotWaitHasEnded) {
  const Grant held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  EXPECT_EQ(SearchFor(7, {})->code(), Errc::kNotFound);
  clock->Advance(2s);
  EXPECT_EQ(subscribed->subscriptions, 1);
}

TEST_F(SubscriptionTest, LastsWhenASearchWasCancelledWhileItAsked) {
  const Grant held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  const auto search = SearchFor(7, kForever);
  clock->DelayWork(1s);
  Hint();
  CancelAcquire(search->handle);
  clock->Advance(2s);
  EXPECT_EQ(search->code(), Errc::kCancelled);
  clock->DelayWork(Duration{});
  clock->Advance(5s);
  EXPECT_EQ(subscribed->subscriptions, 1);
}

TEST_F(SubscriptionTest, ASearchThatHintsWokeLooksNoMoreOftenAfterwards) {
  const auto search = SearchFor(7, kForever);
  for (int i = 0; i < 5; ++i) {
    Hint();
    clock->Advance(1s);
  }
  store->Reset();
  clock->Advance(10min);
  EXPECT_LE(store->Count(OpKind::kAcquire), 10);
}

TEST_F(SubscriptionTest, EndsWithTheManager) {
  const Grant held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  const EnginePtr kept = engine();
  EXPECT_EQ(subscribed->subscriptions, 1);
  manager->Close();
  EXPECT_EQ(subscribed->subscriptions, 0);
}

TEST_F(SubscriptionTest, IsNotMadeOnceTheManagerIsClosed) {
  const EnginePtr kept = engine();
  manager->Close();
  kept->waits().hints().Enter(*collection);
  clock->RunPending();
  EXPECT_EQ(subscribed->subscriptions, 0);
}

}  // namespace
}  // namespace doclock::detail
