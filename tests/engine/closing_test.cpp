#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "harness.h"

namespace doclock::detail {
namespace {

class ClosingTest : public EngineTest {};

TEST_F(ClosingTest, EndsWaitsAndSaysLostToHolders) {
  Grant held = Lock("a");
  const auto lost = LeaseLost(held.lease);
  auto waiting = LockLater("a", {.wait = kForever});
  manager.reset();
  clock->RunPending();
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(Write(held.lease, WriteKind::kRelease, Body())->code, Errc::kLost);
}

TEST_F(ClosingTest, DrainsDiscardsThatAreQueued) {
  { Grant dropped = Lock("a"); }
  manager.reset();
  EXPECT_FALSE([&] {
    ReadOp look(*collection, *std::make_unique<Key>("a"));
    const Key key("a");
    look.key = &key;
    StoreOp* const ops[] = {&look};
    store->Execute(ops, 1s);
    return look.locked;
  }());
}

TEST_F(ClosingTest, IsBoundedWhenTheStoreHangs) {
  { Grant dropped = Lock("a"); }
  clock->DelayWork(24h);
  const TimePoint before = clock->Now();
  manager.reset();
  EXPECT_LE(clock->Now() - before, 2s) << "ManagerOptions::drain_timeout";
}

TEST_F(ClosingTest, LaterCallsSaySo) {
  const EnginePtr kept = engine();
  AcquireSpec spec = Spec("a");
  manager->Close();
  EXPECT_EQ(Acquire(kept, std::move(spec), {}).failure->code, Errc::kClosed);
  EXPECT_EQ(Read(kept, *collection, "a").failure->code, Errc::kClosed);
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

class RealClosingTest : public ::testing::Test {
 protected:
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

TEST_F(RealClosingTest, AsynchronousCallersHoldNoThread) {
  std::atomic<int> done = 0;
  std::promise<void> all;
  constexpr int kCallers = 300;
  AcquireResult held = Take("a");
  for (int i = 0; i < kCallers; ++i) {
    AcquireSpec spec = MakeSpec(manager->engine(), *collection, {.wait = kForever}, 30s);
    spec.key = "a";
    AcquireAsync(manager->engine(), std::move(spec), [&](AcquireResult result) {
      ASSERT_FALSE(result.failure);
      result.grant = Grant();  // given back by its destructor: see Grant
      if (done.fetch_add(1) + 1 == kCallers) all.set_value();
    });
  }
  held.grant = Grant();
  { const AcquireResult dropped = std::move(held); }
  all.get_future().get();
  EXPECT_EQ(done, kCallers);
}

}  // namespace
}  // namespace doclock::detail
