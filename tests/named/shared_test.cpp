#include "doclock/named_mutex.h"

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "doclock/locking_repository.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

/// The standard's SharedTimedLockable, and TimedLockable.
template <class M>
concept SharedTimedLockable = requires(M& mutex, std::chrono::milliseconds time,
                                       std::chrono::steady_clock::time_point until) {
  mutex.lock();
  { mutex.try_lock() } -> std::same_as<bool>;
  { mutex.try_lock_for(time) } -> std::same_as<bool>;
  { mutex.try_lock_until(until) } -> std::same_as<bool>;
  { mutex.unlock() } noexcept;
  mutex.lock_shared();
  { mutex.try_lock_shared() } -> std::same_as<bool>;
  { mutex.try_lock_shared_for(time) } -> std::same_as<bool>;
  { mutex.try_lock_shared_until(until) } -> std::same_as<bool>;
  { mutex.unlock_shared() } noexcept;
};
static_assert(SharedTimedLockable<SharedNamedMutex>);

constexpr LockMode kShared = LockMode::kShared;

class SharedLockTest : public NamedTest {
 protected:
  bool OthersCanShare(const std::string& name) {
    return LockProvider(AnotherManager(), "jobs").TryAcquire(name, {.mode = kShared}).has_value();
  }
};
DOCLOCK_FOR_ALL_STORES(SharedLockTest);

TEST_P(SharedLockTest, BadOptionsAreRefusedByName) {
  for (const int limit : {0, -1, kMaxHolders + 1}) {
    EXPECT_THAT(
        RefusalOf([&] { (void)jobs.Acquire("a", {.mode = kShared, .max_holders = limit}); }),
        ::testing::HasSubstr("LockOptions::max_holders"));
  }
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire("a", {.mode = static_cast<LockMode>(7)}); }),
              ::testing::HasSubstr("LockOptions::mode"));
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire("a", {.max_holders = 3}); }),
              ::testing::HasSubstr("LockOptions::max_holders"));
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Acquire("a", {.min_hold = 1s, .mode = kShared}); }),
              ::testing::HasSubstr("LockOptions::min_hold"));
}

TEST_P(SharedLockTest, StatusFiltersEachShareByItself) {
  const auto share = [&](Duration ttl, std::string_view owner, std::string_view group) {
    auto lock = jobs.Acquire(
        "a", {.ttl = ttl, .renew = false, .owner = owner, .group = group, .mode = kShared});
    clock->Advance(10min);
    return lock;
  };
  const auto first = share(2h, "first", "g");
  const auto second = share(2h, "second", "h");
  const auto third = share(2h, "third", "g");
  const auto over = share(1min, "over", "g");
  const auto owners = [&](const LockFilter& filter) {
    std::vector<std::string> found;
    for (const LockStatus& lock : jobs.Admin().Status(filter)) found.push_back(lock.holder.name);
    return found;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(owners({.name = "a"}), ElementsAre("first", "second", "third", "over"));
  EXPECT_THAT(owners({.owner = "second"}), ElementsAre("second"));
  EXPECT_THAT(owners({.group = "g"}), ElementsAre("first", "third", "over"));
  EXPECT_THAT(owners({.expired = true}), ElementsAre("over"));
  EXPECT_THAT(owners({.group = "g", .expired = false}), ElementsAre("first", "third"));
  // 80, 90 and 100 minutes are left.
  EXPECT_THAT(owners({.remaining_below = 95min, .remaining_at_least = 85min}),
              ElementsAre("second"));
  const auto now = std::chrono::system_clock::now();
  EXPECT_THAT(owners({.granted_before = now - 25min, .granted_after = now - 35min}),
              ElementsAre("second"));
}

TEST_P(SharedLockTest, PurgeClearsSharesThatAreOver) {
  HeldLock first = jobs.Acquire("a", {.ttl = 10s, .renew = false, .mode = kShared});
  HeldLock second = jobs.Acquire("a", {.ttl = 60s, .renew = false, .mode = kShared});
  clock->Advance(10s);
  EXPECT_EQ(jobs.Admin().Purge().expired, 0);
  clock->Advance(51s);
  EXPECT_EQ(jobs.Admin().Purge().expired, 1);
  EXPECT_TRUE(jobs.Admin().Status().empty());
  EXPECT_EQ(jobs.Admin().Purge({.forget = true, .idle_for = 30s}).forgotten, 0);
  clock->Advance(1min);
  EXPECT_EQ(jobs.Admin().Purge({.forget = true, .idle_for = 30s}).forgotten, 1);
}

TEST_P(SharedLockTest, AMutexHoldsItAloneOrSharesIt) {
  SharedNamedMutex mutex = jobs.SharedMutex("a");
  EXPECT_EQ(mutex.name(), "a");
  EXPECT_FALSE(mutex.held());
  {
    const std::shared_lock reader(mutex);
    EXPECT_TRUE(mutex.held());
    EXPECT_GT(mutex.fence(), 0);
    EXPECT_FALSE(mutex.lost().stop_requested());
    EXPECT_TRUE(OthersCanShare("a"));
    EXPECT_FALSE(IsFree("a"));
  }
  EXPECT_FALSE(mutex.held());
  EXPECT_TRUE(IsFree("a"));
  {
    const std::scoped_lock writer(mutex);
    EXPECT_TRUE(mutex.held());
    EXPECT_FALSE(OthersCanShare("a"));
  }
  EXPECT_TRUE(IsFree("a"));
  EXPECT_THROW((void)mutex.fence(), std::logic_error);
  EXPECT_THROW((void)mutex.lost(), std::logic_error);
  mutex.unlock();         // harmless
  mutex.unlock_shared();  // too
}

TEST_P(SharedLockTest, AMutexTriesAndWaits) {
  const LockProvider others(AnotherManager(), "jobs");
  auto held = others.Acquire("a", {.ttl = 5s, .renew = false});
  SharedNamedMutex mutex = jobs.SharedMutex("a");
  EXPECT_FALSE(std::shared_lock(mutex, std::try_to_lock).owns_lock());
  EXPECT_FALSE(std::unique_lock(mutex, std::try_to_lock).owns_lock());
  EXPECT_FALSE(mutex.try_lock_shared_for(1s));
  EXPECT_FALSE(mutex.try_lock_shared_for(-1s));
  EXPECT_FALSE(mutex.try_lock_shared_until(std::chrono::steady_clock::now() - 1s));
  EXPECT_TRUE(mutex.try_lock_shared_until(std::chrono::steady_clock::now() + 10s));
  EXPECT_TRUE(mutex.held());
  mutex.unlock_shared();
  auto reader = others.Acquire("a", {.ttl = 5s, .renew = false, .mode = kShared});
  EXPECT_FALSE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock_for(1s));
  EXPECT_TRUE(mutex.try_lock_until(std::chrono::steady_clock::now() + 10s));
}

TEST_P(SharedLockTest, AMutexHasALimitOfThoseWhoShare) {
  SharedNamedMutex mutex = jobs.SharedMutex("a", {.max_holders = 1});
  const std::shared_lock reader(mutex);
  EXPECT_FALSE(LockProvider(AnotherManager(), "jobs")
                   .SharedMutex("a", {.max_holders = 1})
                   .try_lock_shared());
}

TEST_P(SharedLockTest, OneThreadCannotHaveItTwice) {
  SharedNamedMutex mutex = jobs.SharedMutex("a");
  const auto expect_refused = [](auto lock) {
    EXPECT_EQ(ThrownBy<std::system_error>(lock).code(), std::errc::resource_deadlock_would_occur);
  };
  {
    const std::shared_lock reader(mutex);
    expect_refused([&] { mutex.lock(); });
    expect_refused([&] { mutex.lock_shared(); });
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_shared());
    EXPECT_FALSE(mutex.try_lock_for(1s));
    EXPECT_TRUE(mutex.held());
  }
  const std::scoped_lock writer(mutex);
  expect_refused([&] { mutex.lock(); });
  expect_refused([&] { mutex.lock_shared(); });
  EXPECT_FALSE(mutex.try_lock_shared());
}

TEST_P(SharedLockTest, AMutexThatIsDestroyedGivesSharesBack) {
  {
    SharedNamedMutex mutex = jobs.SharedMutex("a");
    mutex.lock_shared();
  }
  clock->RunPending();
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(SharedLockTest, UnlockNeverThrows) {
  SharedNamedMutex mutex = jobs.SharedMutex("a");
  mutex.lock_shared();
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite, .key = {}, .times = 3});
  mutex.unlock_shared();
  clock->Advance(5s);
  EXPECT_TRUE(IsFree("a"));
}

class SharedThreadsTest : public NamedThreadsTest {};
DOCLOCK_FOR_ALL_STORES(SharedThreadsTest);

TEST_P(SharedThreadsTest, ReadersSeeNoHalfWrittenPair) {
  SharedNamedMutex mutex = jobs.SharedMutex("a");
  int first = 0, second = 0;
  std::atomic<int> torn = 0, reads = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 20; ++n) {
          const std::scoped_lock writer(mutex);
          ++first;
          std::this_thread::yield();
          ++second;
        }
      });
    }
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 20; ++n) {
          const std::shared_lock reader(mutex);
          torn += first != second;
          ++reads;
        }
      });
    }
  }
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(first, 60);
  EXPECT_EQ(second, 60);
  EXPECT_EQ(reads, 80);
}

TEST_P(SharedThreadsTest, EachThreadHasItsOwnShare) {
  SharedNamedMutex mutex = jobs.SharedMutex("a");
  const std::shared_lock mine(mutex);
  std::jthread([&] {
    EXPECT_FALSE(mutex.held());
    mutex.unlock_shared();  // not this thread's
    mutex.lock_shared();
    EXPECT_TRUE(mutex.held());
    EXPECT_EQ(jobs.Admin().Status().size(), 2U);
    mutex.unlock_shared();
    EXPECT_FALSE(mutex.try_lock());
  }).join();
  EXPECT_TRUE(mutex.held());
  EXPECT_EQ(jobs.Admin().Status().size(), 1U);
}

TEST_P(SharedThreadsTest, AThreadThatEndsGivesItsShareBack) {
  SharedNamedMutex mutex = jobs.SharedMutex("a");
  std::jthread([&] { mutex.lock_shared(); }).join();
  EXPECT_TRUE(mutex.try_lock_for(10s));
}

}  // namespace
}  // namespace doclock::named
