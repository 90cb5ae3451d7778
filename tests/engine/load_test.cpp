/// A manager with real threads keeps its locks and serves its callers while calls of the store
/// hang.

#include <atomic>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>

#include "doclock/observer.h"
#include "engine/support/hanging_store.h"
#include "engine/support/harness.h"
#include "process/eventually.h"

namespace doclock::detail {
namespace {

/// Generous: the machine may have much else to do.
constexpr auto kLong = 5min;

using test::Eventually;

class LoadTest : public ManagerTest {
 protected:
  explicit LoadTest(std::shared_ptr<Observer> observer = nullptr) {
    ManagerOptions options;
    options.observer = std::move(observer);
    options.drain_timeout = 100ms;
    manager.emplace(store, options);
    collection = store->Open("orders", {}, 30s).get();
  }
  ~LoadTest() override { store->LetGo(); }

  /// Begins what hangs in the store, many times.
  void Flood(int times) {
    for (int i = 0; i < times; ++i) {
      QueryAsync(engine(), *collection, {}, [](QueryResult) {});
      AcquireSpec search = Spec({}, {.wait = kForever});
      search.filter.Equal("n", 77);
      AcquireNextAsync(engine(), std::move(search), [](AcquireResult) {});
      AcquireAsync(engine(), Spec("held", {.wait = kForever}), [](AcquireResult) {});
    }
  }
  /// Does this lock get renewed?
  bool IsRenewed(const Grant& held) {
    store->Reset();
    return Eventually([&] { return store->Count(OpKind::kRenew) > 0; }) && LeaseHeld(*held.lease);
  }

  std::shared_ptr<HangingStore> store = std::make_shared<HangingStore>();
};

TEST_F(LoadTest, AShortWaitBehindAReleaseThatHangsEnds) {
  std::optional<Grant> held = Lock("a");
  store->Hang({CallKind::kBatch});
  held.reset();
  ASSERT_TRUE(store->AwaitHanging(1));
  const AcquireResult result = Acquire(engine(), Spec("a", {.wait = 5ms}), {});
  EXPECT_EQ(CodeOf(result), Errc::kUnavailable);
}

TEST_F(LoadTest, QueriesThatHangKeepNoLockFromBeingRenewed) {
  const Grant held = Lock("held", {.ttl = 6s});
  store->Hang({CallKind::kQuery});
  Flood(50);
  ASSERT_TRUE(store->AwaitHanging(1));
  EXPECT_TRUE(IsRenewed(held));
}

TEST_F(LoadTest, SearchesThatHangKeepNoLockFromBeingRenewed) {
  const Grant held = Lock("held", {.ttl = 6s});
  store->Hang({CallKind::kSearch});
  Flood(50);
  ASSERT_TRUE(store->AwaitHanging(1));
  EXPECT_TRUE(IsRenewed(held));
}

TEST_F(LoadTest, SubscriptionsThatHangKeepNoLockFromBeingRenewed) {
  const Grant held = Lock("held", {.ttl = 6s});
  store->Hang({CallKind::kSubscription, CallKind::kQuery});
  Flood(50);
  ASSERT_TRUE(store->AwaitHanging(2));
  EXPECT_TRUE(IsRenewed(held));
}

TEST_F(LoadTest, SubscriptionsThatHangKeepNoWaiterFromAFreeLock) {
  LockManager other(store, {.drain_timeout = 100ms});
  AcquireResult held = Acquire(other.engine(), Spec("held"), {});
  ASSERT_FALSE(held.failure);
  store->Hang({CallKind::kSubscription});
  const auto got = std::make_shared<std::atomic<bool>>(false);
  AcquireAsync(engine(), Spec("held", {.wait = kForever}),
               [got](AcquireResult result) { *got = !result.failure; });
  ASSERT_TRUE(store->AwaitHanging(1));
  EXPECT_FALSE(Write(held.grant.lease, WriteKind::kRelease, Body()));
  EXPECT_TRUE(Eventually([&] { return got->load(); }));
}

TEST_F(LoadTest, ABusyLockIsNoOutageWhileASubscriptionHangs) {
  const Grant held = Lock("held");
  store->Hang({CallKind::kSubscription});
  const AcquireResult result = Acquire(engine(), Spec("held", {.wait = 100ms}), {});
  EXPECT_EQ(CodeOf(result), Errc::kTimedOut);
}

/// Blocks the notifier at the first grant it hears of.
struct SlowObserver : Observer {
  void OnGranted(const LockEvent&, std::chrono::nanoseconds, bool) override { go.acquire(); }
  void OnMissed(std::uint64_t calls) override { missed += calls; }
  void OnLost(const LockEvent&) override { ++lost; }
  std::counting_semaphore<> go{0};
  std::atomic<std::uint64_t> missed = 0;
  std::atomic<int> lost = 0;
};

class SlowObserverTest : public LoadTest {
 protected:
  explicit SlowObserverTest(std::shared_ptr<SlowObserver> o = std::make_shared<SlowObserver>())
      : LoadTest(o), observer(std::move(o)) {}
  ~SlowObserverTest() override { observer->go.release(100'000); }
  std::shared_ptr<SlowObserver> observer;
};

TEST_F(SlowObserverTest, KeepsNoLockFromBeingRenewed) {
  const Grant held = Lock("held", {.ttl = 6s});
  EXPECT_TRUE(IsRenewed(held));
}

TEST_F(SlowObserverTest, MissesCallsOnceItIsThousandsBehindAndIsToldHowMany) {
  Grant held = Lock("held");
  constexpr int kCalls = 12'000;
  Failure busy;
  busy.code = Errc::kBusy;
  for (int i = 0; i < kCalls; ++i) {
    engine()->events().Busy(*collection, "held", busy);
  }
  engine()->leases().Lose(*held.lease);
  EXPECT_EQ(observer->missed, 0U);
  observer->go.release();
  EXPECT_TRUE(Eventually([&] { return observer->missed > 0 && observer->lost == 1; }));
  EXPECT_LE(observer->missed, static_cast<std::uint64_t>(kCalls));
  EXPECT_GE(observer->missed, 1'000U);
}

TEST_F(LoadTest, ALockWithATimeToWaitIsAnsweredWhenItIsOver) {
  store->Hang({CallKind::kBatch});
  const auto started = std::chrono::steady_clock::now();
  AcquireResult result = Acquire(engine(), Spec("a", {.wait = 100ms}), {});
  EXPECT_EQ(CodeOf(result), Errc::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - started, kLong);
  store->LetGo();
  // The lock that the attempt got later is released.
  EXPECT_TRUE(Eventually([&] {
    const ReadResult read = Read(engine(), *collection, "a");
    return !read.failure && read.version == 2 && !read.locked;
  }));
}

TEST_F(LoadTest, ASearchWithATimeToWaitIsAnsweredWhenItIsOver) {
  { const Grant made = Lock("a"); }
  store->Hang({CallKind::kSearch});
  AcquireResult result = AcquireNext(engine(), Spec({}, {.wait = 100ms}), {});
  EXPECT_EQ(CodeOf(result), Errc::kUnavailable);
  store->LetGo();
  EXPECT_TRUE(Eventually([&] {
    const ReadResult read = Read(engine(), *collection, "a");
    return !read.failure && read.version == 4 && !read.locked;
  }));
}

TEST_F(LoadTest, ClosingKeepsToItsTimeWhenTheStoreHangs) {
  const Grant held = Lock("held");
  store->Hang({CallKind::kQuery, CallKind::kBatch, CallKind::kReads, CallKind::kSubscription});
  const auto told = std::make_shared<std::promise<Errc>>();
  auto answer = told->get_future();
  QueryAsync(engine(), *collection, {}, [told](QueryResult r) {
    told->set_value(r.failure ? r.failure->code : Errc::kNotFound);
  });
  Flood(5);
  ReadAsync(engine(), *collection, "held", [](ReadResult) {});
  ASSERT_TRUE(store->AwaitHanging(2));
  manager->Close();  // would hang
  EXPECT_FALSE(LeaseHeld(*held.lease));
  manager.reset();
  store->LetGo();
  ASSERT_EQ(answer.wait_for(kLong), std::future_status::ready) << "told exactly once all the same";
}

TEST_F(LoadTest, ASecondCloseWaitsForTheFirst) {
  std::binary_semaphore go{0};
  std::latch inside{1};
  std::atomic<bool> over = false;
  RunOnNotifier(engine(), [&] {
    inside.count_down();
    go.acquire();
    over = true;
  });
  inside.wait();
  std::jthread first([copy = *manager]() mutable { copy.Close(); });
  EXPECT_TRUE(Eventually([&] { return engine()->closed(); }));
  std::jthread opener([&] {
    std::this_thread::sleep_for(20ms);  // for the second to come to its wait; correct either way
    go.release();
  });
  manager->Close();
  EXPECT_TRUE(over);
}

TEST_F(LoadTest, ManagersWhoseCallbacksCloseEachOtherComeToAnEnd) {
  LockManager other(store, {.drain_timeout = 100ms});
  std::latch both{2};
  std::latch closed{2};
  const auto close = [&](LockManager& victim) {
    both.arrive_and_wait();
    victim.Close();
    closed.count_down();
  };
  RunOnNotifier(engine(), [&] { close(other); });
  RunOnNotifier(other.engine(), [&] { close(*manager); });
  EXPECT_TRUE(Eventually([&] { return closed.try_wait(); }));
  manager->Close();
  other.Close();
}

TEST_F(LoadTest, AfterClosingHandlersNeitherOverlapNorRunInsideTheCall) {
  const EnginePtr kept = engine();
  manager->Close();
  constexpr int kThreads = 6, kEach = 50;
  struct Counts {
    std::atomic<int> inside = 0, told = 0;
  };
  const auto counts = std::make_shared<Counts>();  // handlers that come late outlive the test
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        ReadAsync(kept, *collection, "a",
                  [counts, caller = std::this_thread::get_id()](ReadResult result) {
                    EXPECT_EQ(counts->inside.fetch_add(1), 0);
                    EXPECT_NE(std::this_thread::get_id(), caller);
                    EXPECT_EQ(result.failure->code, Errc::kClosed);
                    counts->inside.fetch_sub(1);
                    ++counts->told;
                  });
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(Eventually([&] { return counts->told == kThreads * kEach; }));
}

TEST_F(LoadTest, AHandlerThatTriesAgainAfterClosingOverflowsNoStack) {
  const EnginePtr kept = engine();
  manager->Close();
  struct Chain {
    EnginePtr engine;
    Collection* collection;
    std::promise<void> over;
    static void Again(const std::shared_ptr<Chain>& chain, int left) {
      ReadAsync(chain->engine, *chain->collection, "a", [chain, left](ReadResult) {
        if (left == 0) return chain->over.set_value();
        Again(chain, left - 1);
      });
    }
  };
  const auto chain = std::make_shared<Chain>(kept, collection);
  auto over = chain->over.get_future();
  Chain::Again(chain, 100'000);
  EXPECT_EQ(over.wait_for(kLong), std::future_status::ready);
}

}  // namespace
}  // namespace doclock::detail
