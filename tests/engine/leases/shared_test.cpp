#include <atomic>
#include <thread>
#include <vector>

#include "engine/support/shared_store.h"

namespace doclock::detail {
namespace {

/// Shared locks on one document, "a", by one process and by two.
class SharedTest : public EngineTest {
 protected:
  SharedTest() { other.emplace(store, ManagerOptions{.runtime = clock->runtime()}); }

  /// Options of one who shares.
  static LockOptions Reader(LockOptions options = {}) {
    options.mode = LockMode::kShared;
    return options;
  }
  Grant Share(LockOptions options = {}) { return Lock("a", Reader(options)); }
  std::shared_ptr<Waiting> ShareLater(LockOptions options = {.wait = kForever}) {
    return LockLater("a", Reader(options));
  }
  /// By the other process.
  std::optional<Grant> OthersTry(LockOptions options) {
    AcquireSpec spec = Spec("a", options);
    spec.owner = other->engine()->owner();
    AcquireResult result = Acquire(other->engine(), std::move(spec), {});
    if (result.failure) return std::nullopt;
    return std::move(result.grant);
  }
  int LiveShares() {
    int live = 0;
    std::string after;
    do {
      const LockPage page = store->ListLocks(*collection, {}, after, 1s);
      for (const LockRow& row : page.rows) live += row.live && row.mode == LockMode::kShared;
      after = page.next;
    } while (!after.empty());
    return live;
  }

  std::optional<LockManager> other;
};

/// Two processes, in a store that keeps a queue for them.
class SharedByProcesses : public SharedTest {
 protected:
  SharedByProcesses() {
    store = std::make_shared<SharedStore>(OpenMemoryStore({.clock = clock}));
    const ManagerOptions options{.runtime = clock->runtime()};
    manager.emplace(store, options);
    other.emplace(store, options);
    collection = store->Open("orders", {}, 30s).get();
  }
};

TEST_F(SharedTest, ARepositorysReleaseByValueCannotEndShares) {
  Grant share = Share();
  ValueRelease release = ReleaseOf(share);
  release.lock_id = kSharedLockId;
  EXPECT_EQ(ReleaseByValue(engine(), std::move(release))->code, Errc::kNotOwner);
  EXPECT_EQ(LiveShares(), 1);
}

TEST_F(SharedTest, AStreamOfReadersDoesNotStarveAWriter) {
  std::vector<std::shared_ptr<Waiting>> readers;
  std::shared_ptr<Waiting> writer;
  for (int i = 0; i < 100 && !(writer && writer->granted()); ++i) {
    readers.push_back(ShareLater());
    if (i == 20) writer = LockLater("a", {.wait = kForever});
    if (i >= 5) readers[static_cast<std::size_t>(i - 5)]->result.reset();  // gives it back
    clock->Advance(50ms);
    if (i > 20) {
      EXPECT_LE(i, 30);
    }
  }
  ASSERT_TRUE(writer && writer->granted());
  EXPECT_EQ(LiveShares(), 0);
}

TEST_F(SharedByProcesses, ReadersOfAnotherProcessDoNotStarveAWriter) {
  std::vector<std::optional<Grant>> readers;
  std::shared_ptr<Waiting> writer;
  int refused = 0;
  for (int i = 0; i < 100 && !(writer && writer->granted()); ++i) {
    readers.push_back(OthersTry(Reader()));
    if (i > 20) refused += !readers.back();
    if (i == 20) writer = LockLater("a", {.wait = kForever});
    if (i >= 5) readers[static_cast<std::size_t>(i - 5)].reset();
    clock->Advance(50ms);
  }
  ASSERT_TRUE(writer && writer->granted());
  EXPECT_GT(refused, 0);
  EXPECT_LE(refused, 10);
}

TEST_F(SharedTest, WhoFailsFastIsToldForItselfAndNotForANeighbour) {
  Grant kept = Share();
  clock->DelayWork(1s);
  { Grant dropped = Share(); }
  auto alone = LockLater("a");
  auto semaphore = ShareLater({.max_holders = 1});
  auto reader = ShareLater({.max_holders = 5});
  EXPECT_FALSE(alone->result || semaphore->result || reader->result);
  clock->Advance(10s);
  EXPECT_EQ(alone->code(), Errc::kBusy);
  EXPECT_EQ(semaphore->code(), Errc::kBusy);
  EXPECT_TRUE(reader->granted());
  clock->DelayWork(Duration());
}

TEST_F(SharedTest, AThousandSharesOfOneDocumentAreRenewedInFewCalls) {
  std::vector<Grant> shares;
  for (int i = 0; i < kMaxHolders; ++i) shares.push_back(Share({.ttl = 30s}));
  EXPECT_EQ(TryLock("a", Reader()), Errc::kBusy);
  store->Reset();
  clock->Advance(1min);
  EXPECT_GE(store->Count(OpKind::kRenew), 2 * kMaxHolders);
  EXPECT_LE(store->Calls(), 8);
  for (const Grant& share : shares) EXPECT_TRUE(LeaseHeld(*share.lease));
  EXPECT_EQ(LiveShares(), kMaxHolders);
}

TEST_F(SharedTest, NeverMoreThanTheLimitAmongFiftyThreads) {
  LockManager real{OpenMemoryStore({})};
  Collection& things = *real.engine()->store().Open("things", {}, 30s);
  constexpr int kLimit = 3;
  std::atomic<int> inside = 0, most = 0, done = 0;
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) {
      AcquireSpec spec =
          MakeSpec(real.engine(), things,
                   {.wait = kForever, .mode = LockMode::kShared, .max_holders = kLimit}, 30s);
      spec.key = "a";
      spec.insert = Body::FromText("{}");
      AcquireResult result = Acquire(real.engine(), std::move(spec), {});
      ASSERT_FALSE(result.failure) << result.failure->message;
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::yield();
      --inside;
      if (i % 2 == 0) {  // or else it is given back in the background
        EXPECT_FALSE(Write(result.grant.lease, WriteKind::kRelease, Body()));
      }
      ++done;
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 50; ++i) threads.emplace_back(work);
  threads.clear();
  EXPECT_EQ(done, 1000);
  EXPECT_LE(most, kLimit);
}

}  // namespace
}  // namespace doclock::detail
