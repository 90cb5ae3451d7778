#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <future>
#include <thread>

#include "doclock/detail/facade.h"
#include "engine/support/hanging_store.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class ClosingTest : public EngineTest {};

TEST_F(ClosingTest, IsBoundedWhenTheStoreHangs) {
  { Grant dropped = Lock("a"); }
  clock->DelayWork(24h);
  const TimePoint before = clock->Now();
  manager.reset();
  EXPECT_LE(clock->Now() - before, 2s) << "ManagerOptions::drain_timeout";
}

TEST_F(ClosingTest, LaterAsynchronousCallsSaySoInTheirResult) {
  const EnginePtr kept = engine();
  Grant held = Lock("a");
  AcquireSpec spec = Spec("b");
  manager->Close();
  std::vector<std::optional<Errc>> codes;
  const auto note = [&](const FailurePtr& failure) {
    codes.push_back(failure ? std::optional(failure->code) : std::nullopt);
  };
  AcquireAsync(kept, Spec("b"), [&](AcquireResult r) { note(r.failure); });
  AcquireNextAsync(kept, Spec("b"), [&](AcquireResult r) { note(r.failure); });
  ReadAsync(kept, *collection, "a", [&](ReadResult r) { note(r.failure); });
  SaveSpec save;
  save.collection = collection;
  SaveAsync(kept, std::move(save), [&](SaveResult r) { note(r.failure); });
  QueryAsync(kept, *collection, {}, [&](QueryResult r) { note(r.failure); });
  WriteAsync(held.lease, WriteKind::kRelease, {}, [&](FailurePtr f) { note(f); });
  DetachAsync(held.lease, [&](FailurePtr f) { note(f); });
  clock->RunPending();
  ASSERT_EQ(codes.size(), 7U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(codes[i], Errc::kClosed) << i;
  EXPECT_EQ(codes[5], Errc::kLost);
  EXPECT_EQ(codes[6], Errc::kLost);
}

/// The manager is closed while the store grants.
class GrantWhileClosingTest : public ClosingTest {
 protected:
  void CloseAtTheGrant() {
    kept = engine();
    BeforeReply(OpKind::kAcquire, [this] { manager->Close(); });
  }

  EnginePtr kept;
};

TEST_F(GrantWhileClosingTest, ALockIsGivenBack) {
  CloseAtTheGrant();
  const AcquireResult result = Acquire(kept, Spec("a"), {});
  EXPECT_EQ(CodeOf(result), Errc::kClosed);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(GrantWhileClosingTest, ALockAskedForAsynchronouslyIsGivenBack) {
  CloseAtTheGrant();
  const auto asked = LockLater("a");
  EXPECT_EQ(asked->code(), Errc::kClosed);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(ClosingTest, LocksThatWereTakenForTheOthersAreGivenBack) {
  const Grant held = Lock("b");
  std::optional<AcquireAllResult> result;
  const LockOptions options{.wait = kForever, .hold_while_waiting = kForever};
  AcquireAllAsync(engine(), {Spec("a", options), Spec("b", options)},
                  {std::make_shared<Canceller>(), nullptr},
                  [&](AcquireAllResult told) { result = std::move(told); });
  clock->RunPending();
  ASSERT_TRUE(IsLocked("a"));
  manager->Close();
  clock->RunPending();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->failure->code, Errc::kCancelled);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(GrantWhileClosingTest, AWaitersLockIsGivenBack) {
  Grant held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  CloseAtTheGrant();
  testing::ExpireLock(*store, "orders", "a");
  clock->Advance(10s);  // until it looks again
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(GrantWhileClosingTest, TheNextDocumentIsGivenBack) {
  { Grant made = Lock("a"); }
  clock->RunPending();
  CloseAtTheGrant();
  AcquireSpec spec = Spec({});
  const AcquireResult result = AcquireNext(kept, std::move(spec), {});
  ASSERT_TRUE(result.failure);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_F(GrantWhileClosingTest, AHandOverIsGivenBack) {
  Grant held = Lock("a");
  const auto next = LockLater("a", {.wait = kForever});
  BeforeReply(OpKind::kWrite, [this] { manager->Close(); });
  EXPECT_FALSE(Write(held.lease, WriteKind::kRelease, Body::FromJson({{"n", 1}})));
  EXPECT_EQ(next->code(), Errc::kCancelled);
  EXPECT_FALSE(IsLocked("a"));
}

/// Counts the ends of locks.
class EndCounter final : public Observer {
 public:
  void OnLost(const LockEvent&) override { ++lost; }
  void OnReleased(const LockEvent&, std::chrono::nanoseconds) override { ++released; }
  void OnDiscarded(const LockEvent&, std::chrono::nanoseconds) override { ++released; }

  std::atomic<int> lost = 0, released = 0;
};

/// The manager is closed while handles are giving their locks back. The parameter: as named locks?
class GivingBackWhileClosingTest : public EngineTest, public ::testing::WithParamInterface<bool> {
 protected:
  explicit GivingBackWhileClosingTest(
      std::shared_ptr<EndCounter> counter = std::make_shared<EndCounter>())
      : EngineTest({.observer = counter}), ends(std::move(counter)) {}

  Grant Take(const Key& key) {
    AcquireSpec spec = Spec(key);
    spec.named = GetParam();
    return std::move(Acquire(engine(), std::move(spec), {}).grant);
  }
  void CloseManager() {
    manager.reset();
    clock->RunPending();
  }

  const std::shared_ptr<EndCounter> ends;
};

TEST_P(GivingBackWhileClosingTest, ALockWhoseReleaseIsQueuedIsReleasedAndNotLost) {
  Grant dropped = Take("a");
  const auto lost = LeaseLost(dropped.lease);
  dropped = Grant();
  CloseManager();
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_EQ(ends->lost, 0);
  EXPECT_EQ(ends->released, 1);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_P(GivingBackWhileClosingTest, ALockWhoseReleaseIsNotSentInTimeIsLost) {
  Grant dropped = Take("a");
  const auto lost = LeaseLost(dropped.lease);
  clock->DelayWork(24h);
  dropped = Grant();
  CloseManager();
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(ends->lost, 1);
}

TEST_P(GivingBackWhileClosingTest, ALockThatIsOnlyRenewedIsLostAfterwards) {
  const Grant held = Take("a");
  bool renewed = false;
  RenewAsync(held.lease, 30s, [&](const FailurePtr& failure) { renewed = !failure; });
  CloseManager();
  EXPECT_TRUE(renewed);
  EXPECT_EQ(ends->lost, 1);
  EXPECT_EQ(ends->released, 0);
}

INSTANTIATE_TEST_SUITE_P(Locks, GivingBackWhileClosingTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Named" : "OfDocuments"; });

/// Closes without waiting for what is under way.
class ImpatientClosingTest : public EngineTest {
 protected:
  ImpatientClosingTest() : EngineTest({.drain_timeout = 0s}) {}
};

TEST_F(ImpatientClosingTest, AnOperationBetweenTwoAttemptsIsEndedNotDropped) {
  Grant held = Lock("a");
  Grant detached = Lock("b");
  ASSERT_FALSE(Detach(detached.lease));
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kWrite, .key = {}, .times = 2});
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kSave, .key = {}});
  store->Inject(
      {.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRead, .key = {}, .times = INT_MAX});
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kAcquire, .key = {}});
  store->Inject(
      {.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRenew, .key = {}, .times = INT_MAX});
  std::vector<Errc> codes;
  const auto note = [&](const FailurePtr& failure) {
    codes.push_back(failure ? failure->code : Errc::kBusy);
  };
  WriteAsync(held.lease, WriteKind::kRelease, {}, note);
  ReleaseByValueAsync(engine(), ReleaseOf(detached), note);
  SaveSpec insert;
  insert.collection = collection;
  insert.key = "c";
  insert.save = SaveKind::kInsert;
  SaveAsync(engine(), std::move(insert), [&](SaveResult r) { note(r.failure); });
  AcquireAsync(engine(), Spec("d"), [&](AcquireResult r) { note(r.failure); });
  clock->RunPending();
  EXPECT_TRUE(codes.empty()) << "all of them wait before they look again";
  manager->Close();
  clock->RunPending();
  EXPECT_EQ(codes, std::vector<Errc>(4, Errc::kInDoubt));
}

class RealClosingTest : public ::testing::Test {
 protected:
  /// From now on the manager's store is one whose calls may hang.
  std::shared_ptr<HangingStore> Hanging(ManagerOptions options) {
    const auto hanging = std::make_shared<HangingStore>();
    store = hanging;
    collection = store->Open("orders", {}, 30s).get();
    manager.emplace(store, std::move(options));
    return hanging;
  }
  AcquireResult Take(const Key& key, LockOptions options = {}) {
    AcquireSpec spec = MakeSpec(manager->engine(), *collection, options, 30s);
    spec.key = key;
    spec.insert = Body::FromJson({{"n", 0}});
    return Acquire(manager->engine(), std::move(spec), {});
  }

  std::shared_ptr<Store> store = OpenMemoryStore();
  std::optional<LockManager> manager{std::in_place, store};
  Collection* collection = store->Open("orders", {}, 30s).get();
};

TEST_F(RealClosingTest, WakesAThreadThatWaits) {
  const AcquireResult held = Take("a");
  auto waiting = std::async(std::launch::async, [&] { return Take("a", {.wait = kForever}); });
  while (!manager->engine()->waits().MustQueue(
      [&] {
        AcquireSpec spec = MakeSpec(manager->engine(), *collection, {.wait = 1s}, 30s);
        spec.key = "a";
        return spec;
      }(),
      Key("a").Hash())) {
    std::this_thread::yield();
  }
  manager->Close();
  EXPECT_EQ(waiting.get().failure->code, Errc::kCancelled);
}

TEST_F(RealClosingTest, ACallerThatDoesNotWaitAsksTheStoreItself) {
  const auto hanging = Hanging({});
  std::thread::id asked;
  hanging->OnExecute([&](auto) { asked = std::this_thread::get_id(); });
  {
    const AcquireResult held = Take("a");
    EXPECT_EQ(asked, std::this_thread::get_id());
  }
  hanging->OnExecute({});
  manager->Close();
}

/// Closes the manager while the store owes a waiter its first answer.
class RealAnswerlessClosingTest : public RealClosingTest {
 protected:
  void CloseDuring(CallKind kind, const std::function<AcquireResult()>& take) {
    const auto hanging = Hanging({.drain_timeout = 1ms});
    hanging->Hang({kind});
    auto waiting = std::async(std::launch::async, take);
    ASSERT_TRUE(hanging->AwaitHanging(1));
    auto closing = std::async(std::launch::async, [&] { manager->Close(); });
    EXPECT_EQ(waiting.get().failure->code, Errc::kCancelled);
    hanging->LetGo();
  }
};

TEST_F(RealAnswerlessClosingTest, EndsTheWaitForADocument) {
  CloseDuring(CallKind::kBatch, [this] { return Take("a", {.wait = 10min}); });
}

TEST_F(RealAnswerlessClosingTest, EndsTheWaitForTheNextDocument) {
  CloseDuring(CallKind::kSearch, [this] {
    return AcquireNext(manager->engine(),
                       MakeSpec(manager->engine(), *collection, {.wait = 10min}, 30s), {});
  });
}

TEST_F(RealClosingTest, AStopEndsAWaitWithoutEndThatHasNoAnswer) {
  const auto hanging = Hanging({.drain_timeout = 1ms});
  hanging->Hang({CallKind::kSearch});
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] {
    return AcquireNext(manager->engine(),
                       MakeSpec(manager->engine(), *collection, {.wait = kForever}, 30s),
                       stop.get_token());
  });
  ASSERT_TRUE(hanging->AwaitHanging(1));
  stop.request_stop();
  EXPECT_EQ(waiting.get().failure->code, Errc::kCancelled);
  hanging->LetGo();
}

/// Closes the manager while a lock is given back by `give_back`.
class RealGivingBackTest : public RealClosingTest {
 protected:
  void CloseDuring(const std::function<void(Grant&)>& give_back) {
    const auto ends = std::make_shared<EndCounter>();
    const auto hanging = Hanging({.observer = ends, .drain_timeout = 30s});
    AcquireResult held = Take("a");
    const auto lost = LeaseLost(held.grant.lease);
    const EnginePtr kept = manager->engine();
    hanging->Hang({CallKind::kBatch});
    auto giving = std::async(std::launch::async, [&] { give_back(held.grant); });
    ASSERT_TRUE(hanging->AwaitHanging(1));
    auto closing = std::async(std::launch::async, [&] { manager->Close(); });
    while (!kept->closed()) std::this_thread::yield();
    EXPECT_EQ(closing.wait_for(10ms), std::future_status::timeout) << "it waits for the release";
    hanging->LetGo();
    closing.get();
    giving.get();
    EXPECT_FALSE(lost.stop_requested());
    EXPECT_EQ(ends->lost, 0);
    EXPECT_EQ(ends->released, 1);
  }
};

/// It stands behind the release, although it does not wait.
TEST_F(RealClosingTest, ACallerBehindAReleaseThatHangsIsEnded) {
  const auto hanging = Hanging({.drain_timeout = 1ms});
  AcquireResult held = Take("a");
  hanging->Hang({CallKind::kBatch});
  held.grant = Grant();
  ASSERT_TRUE(hanging->AwaitHanging(1));
  auto behind = std::async(std::launch::async, [&] { return Take("a"); });
  behind.wait_for(50ms);  // to stand there; else it is refused
  auto closing = std::async(std::launch::async, [&] { manager->Close(); });
  const Errc code = behind.get().failure->code;
  EXPECT_TRUE(code == Errc::kCancelled || code == Errc::kClosed) << static_cast<int>(code);
  hanging->LetGo();
}

TEST_F(RealGivingBackTest, ALockThatWasDroppedIsReleasedAndNotLost) {
  CloseDuring([](Grant& grant) { grant = Grant(); });
}

TEST_F(RealGivingBackTest, ALockThatIsBeingReleasedIsNotLost) {
  CloseDuring([](Grant& grant) {
    EXPECT_FALSE(Write(grant.lease, WriteKind::kRelease, Body::FromJson({{"n", 1}})));
  });
}

TEST_F(RealClosingTest, WorksFromTheEnginesOwnThread) {
  std::promise<void> closed;
  RunOnNotifier(manager->engine(),
                [&, copy = std::make_shared<std::optional<LockManager>>(manager)] {
                  manager.reset();
                  copy->reset();  // the last handle goes on the notifier
                  closed.set_value();
                });
  closed.get_future().get();
}

TEST_F(RealClosingTest, AHandleIsDeadAfterFork) {
  AcquireResult held = Take("a");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto failure = Write(held.grant.lease, WriteKind::kRelease, Body());
    const bool dead = failure && failure->code == Errc::kForked && !LeaseHeld(*held.grant.lease);
    bool told = false;
    WriteAsync(held.grant.lease, WriteKind::kRelease, {}, [&](FailurePtr f) { told = bool(f); });
    if (!told) ::_exit(2);
    held = AcquireResult();
    manager.reset();  // neither hangs nor ends the parent's lock
    ::_exit(dead ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(LeaseHeld(*held.grant.lease));
}

TEST_F(RealClosingTest, LocksUnlocksAndWaitsFromManyThreads) {
  std::atomic<int> inside = 0, count = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        AcquireResult got = Take("a", {.wait = kForever});
        ASSERT_FALSE(got.failure);
        ASSERT_EQ(inside.fetch_add(1), 0);
        ++count;
        inside.fetch_sub(1);
        if (i % 3 == 0) continue;  // dropped: given back in the background
        ASSERT_FALSE(
            Write(got.grant.lease, WriteKind::kRelease, Body::FromJson({{"n", count.load()}})));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(count, 1600);
}

}  // namespace
}  // namespace doclock::detail
