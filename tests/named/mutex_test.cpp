#include "doclock/named_mutex.h"

#include <functional>
#include <limits>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

#include "named/harness.h"

namespace doclock::named {
namespace {

/// The standard's TimedLockable.
template <class M>
concept TimedLockable = requires(M& mutex, std::chrono::milliseconds time,
                                 std::chrono::steady_clock::time_point until) {
  mutex.lock();
  { mutex.try_lock() } -> std::same_as<bool>;
  { mutex.try_lock_for(time) } -> std::same_as<bool>;
  { mutex.try_lock_until(until) } -> std::same_as<bool>;
  { mutex.unlock() } noexcept;
};
static_assert(TimedLockable<NamedMutex> && TimedLockable<RecursiveNamedMutex>);

/// One other thread that runs what it is told, while the caller waits.
class Elsewhere {
 public:
  void Run(std::function<void()> task) {
    task_ = std::move(task);
    turn_.release();
    done_.acquire();
  }
  ~Elsewhere() { Run(nullptr); }

 private:
  std::function<void()> task_;
  std::binary_semaphore turn_{0}, done_{0};
  std::jthread thread_{[this] {
    for (bool more = true; more; done_.release()) {
      turn_.acquire();
      more = task_ != nullptr;
      if (more) task_();
    }
  }};
};

class MutexTest : public NamedTest {};
DOCLOCK_FOR_ALL_STORES(MutexTest);

TEST_P(MutexTest, LocksAndUnlocks) {
  NamedMutex mutex = jobs.Mutex("a");
  EXPECT_EQ(mutex.name(), "a");
  mutex.lock();
  EXPECT_TRUE(mutex.held());
  EXPECT_GT(mutex.fence(), 0);
  EXPECT_FALSE(mutex.lost().stop_requested());
  EXPECT_FALSE(IsFree("a"));
  mutex.unlock();
  EXPECT_FALSE(mutex.held());
  EXPECT_TRUE(IsFree("a"));
  EXPECT_THROW((void)mutex.fence(), std::logic_error);
  EXPECT_THROW((void)mutex.lost(), std::logic_error);
  mutex.unlock();  // harmless
}

TEST_P(MutexTest, TwoOfOneNameKeepEachOtherOutOnOneThreadToo) {
  NamedMutex one = jobs.Mutex("a");
  NamedMutex other = jobs.Mutex("a");
  const std::scoped_lock lock(one);
  EXPECT_FALSE(other.try_lock());
  EXPECT_FALSE(other.try_lock_for(1s));
  EXPECT_TRUE(one.held());
}

TEST_P(MutexTest, UniqueLockTriesAndWaits) {
  const LockProvider others(AnotherManager(), "jobs");
  auto held = others.Acquire("a", {.ttl = 5s, .renew = false});
  NamedMutex mutex = jobs.Mutex("a");
  EXPECT_FALSE(std::unique_lock(mutex, std::try_to_lock).owns_lock());
  EXPECT_FALSE(mutex.try_lock_for(1s));
  EXPECT_FALSE(mutex.try_lock_for(-1s));
  EXPECT_FALSE(mutex.try_lock_until(std::chrono::steady_clock::now() - 1s));
  EXPECT_TRUE(mutex.try_lock_until(std::chrono::steady_clock::now() + 10s));
  EXPECT_TRUE(mutex.held());
}

TEST_P(MutexTest, LockingTwiceOnOneThreadIsAnErrorNotADeadlock) {
  NamedMutex mutex = jobs.Mutex("a");
  const std::scoped_lock lock(mutex);
  EXPECT_EQ(ThrownBy<std::system_error>([&] { mutex.lock(); }).code(),
            std::errc::resource_deadlock_would_occur);
  EXPECT_FALSE(mutex.try_lock());
}

TEST_P(MutexTest, UnlockNeverThrowsAndGoesOnInTheBackground) {
  NamedMutex mutex = jobs.Mutex("a");
  mutex.lock();
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite, .times = 3});
  mutex.unlock();
  EXPECT_FALSE(mutex.held());
  clock->Advance(5s);
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(MutexTest, UnlockAfterLossDoesNothing) {
  NamedMutex mutex = jobs.Mutex("a", {.ttl = 10s});
  mutex.lock();
  StealLock(*store, "jobs", "a");
  clock->Advance(10s);
  EXPECT_TRUE(mutex.lost().stop_requested());
  EXPECT_FALSE(mutex.held());
  mutex.unlock();
  EXPECT_FALSE(IsFree("a")) << "the thief's lock is untouched";
}

TEST_P(MutexTest, ALostMutexCanBeLockedAgain) {
  NamedMutex mutex = jobs.Mutex("a", {.ttl = 1s, .renew = false});
  mutex.lock();
  const auto first = mutex.fence();
  clock->Advance(2s);
  mutex.lock();
  EXPECT_GT(mutex.fence(), first);
}

TEST_P(MutexTest, WaitsForTheEndOfTime) {
  NamedMutex mutex = jobs.Mutex("a");
  ASSERT_TRUE(mutex.try_lock_until(std::chrono::sys_seconds::max()));
  mutex.unlock();
  using Minutes = std::chrono::duration<std::int64_t, std::ratio<60>>;
  ASSERT_TRUE(mutex.try_lock_until(std::chrono::sys_time<Minutes>::max()));
  mutex.unlock();
  using Hours = std::chrono::duration<double, std::ratio<3600>>;
  ASSERT_TRUE(mutex.try_lock_until(
      std::chrono::sys_time<Hours>(Hours(std::numeric_limits<double>::infinity()))));
  EXPECT_FALSE(mutex.try_lock_until(std::chrono::sys_seconds::min()));
  mutex.unlock();
  const LockProvider others(AnotherManager(), "jobs");
  auto held = others.Acquire("a", {.ttl = 5s, .renew = false});
  EXPECT_TRUE(mutex.try_lock_until(std::chrono::sys_seconds::max())) << "it waits";
}

TEST_P(MutexTest, AnExceptionThatIsCaughtUnlocks) {
  NamedMutex plain = jobs.Mutex("a");
  RecursiveNamedMutex recursive = jobs.RecursiveMutex("b");
  try {
    const std::scoped_lock both(plain, recursive);
    const std::scoped_lock again(recursive);
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(IsFree("a"));
    EXPECT_TRUE(IsFree("b"));
  }
}

TEST_P(MutexTest, DestroyingALockedOneReleasesIt) {
  {
    NamedMutex mutex = jobs.Mutex("a");
    mutex.lock();
  }
  clock->RunPending();
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(MutexTest, OptionsAreCopied) {
  auto owner = std::make_unique<std::string>("worker 7");
  NamedMutex mutex = jobs.Mutex("a", {.owner = *owner});
  *owner = "somebody";
  owner.reset();
  mutex.lock();
  EXPECT_EQ(jobs.Admin().Status().at(0).holder.name, "worker 7");
}

TEST_P(MutexTest, ARecursiveOneCounts) {
  RecursiveNamedMutex mutex = jobs.RecursiveMutex("a");
  mutex.lock();
  const auto fence = mutex.fence();
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_TRUE(mutex.try_lock_for(1s));
  EXPECT_EQ(mutex.fence(), fence) << "it is one lock";
  mutex.unlock();
  mutex.unlock();
  EXPECT_FALSE(IsFree("a"));
  mutex.unlock();
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(MutexTest, ALostRecursiveOneSaysSoAndCanBeLockedAfterUnlocking) {
  RecursiveNamedMutex mutex = jobs.RecursiveMutex("a", {.ttl = 1s, .renew = false});
  mutex.lock();
  mutex.lock();
  clock->Advance(2s);
  EXPECT_EQ(CodeOf([&] { mutex.lock(); }), Errc::kLost);
  mutex.unlock();
  mutex.unlock();
  mutex.lock();
  EXPECT_TRUE(mutex.held());
}

TEST_P(MutexTest, ALateUnlockLeavesTheLockOfAnotherThreadAlone) {
  NamedMutex mutex = jobs.Mutex("a", {.ttl = 1s, .renew = false});
  std::unique_lock late(mutex);
  clock->Advance(2s);
  Elsewhere other;
  other.Run([&] { mutex.lock(); });
  late.unlock();
  EXPECT_TRUE(mutex.held());
  EXPECT_FALSE(IsFree("a"));
  other.Run([&] { mutex.unlock(); });
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(MutexTest, ALateUnlockLeavesTheRecursiveLockOfAnotherThreadAlone) {
  RecursiveNamedMutex mutex = jobs.RecursiveMutex("a", {.ttl = 1s, .renew = false});
  std::unique_lock outer(mutex), inner(mutex);
  clock->Advance(2s);
  Elsewhere other;
  other.Run([&] { mutex.lock(); });
  inner.unlock();
  outer.unlock();
  EXPECT_TRUE(mutex.held());
  EXPECT_FALSE(IsFree("a"));
  other.Run([&] { mutex.unlock(); });
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(MutexTest, ALateUnlockLeavesTheSharedMutexOfAnotherThreadAlone) {
  SharedNamedMutex mutex = jobs.SharedMutex("a", {.ttl = 1s, .renew = false});
  std::unique_lock late(mutex);
  clock->Advance(2s);
  Elsewhere other;
  other.Run([&] { mutex.lock(); });
  late.unlock();
  EXPECT_FALSE(IsFree("a"));
  other.Run([&] { mutex.unlock(); });
  EXPECT_TRUE(IsFree("a"));
  std::shared_lock share(mutex);
  clock->Advance(2s);
  other.Run([&] { mutex.lock(); });
  share.unlock();
  EXPECT_FALSE(IsFree("a"));
  other.Run([&] { mutex.unlock(); });
  EXPECT_TRUE(IsFree("a"));
}

class MutexThreadsTest : public NamedThreadsTest {};
DOCLOCK_FOR_ALL_STORES(MutexThreadsTest);

TEST_P(MutexThreadsTest, OneThreadAtATime) {
  NamedMutex mutex = jobs.Mutex("a");
  int inside = 0, total = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          const std::scoped_lock lock(mutex);
          EXPECT_EQ(++inside, 1);
          ++total;
          --inside;
        }
      });
    }
  }
  EXPECT_EQ(total, 200);
}

TEST_P(MutexThreadsTest, OppositeOrdersOfScopedLockDoNotDeadlock) {
  NamedMutex a = jobs.Mutex("a");
  NamedMutex b = jobs.Mutex("b");
  int total = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          const std::scoped_lock both(t == 0 ? a : b, t == 0 ? b : a);
          ++total;
        }
      });
    }
  }
  EXPECT_EQ(total, 20);
}

TEST_P(MutexThreadsTest, AThreadThatEndsReleasesWhatItHolds) {
  NamedMutex plain = jobs.Mutex("a");
  RecursiveNamedMutex recursive = jobs.RecursiveMutex("b");
  std::jthread([&] {
    plain.lock();
    recursive.lock();
    recursive.lock();
  }).join();
  EXPECT_TRUE(plain.try_lock_for(10s));
  EXPECT_TRUE(recursive.try_lock_for(10s));
  EXPECT_TRUE(plain.held());
}

TEST_P(MutexThreadsTest, AThreadThatEndsLeavesTheLocksOfOthersAlone) {
  NamedMutex mutex = jobs.Mutex("a");
  std::binary_semaphore locked{0}, over{0};
  std::jthread thread([&] {
    mutex.lock();
    mutex.unlock();
    mutex.lock();
    StealLock(*store, "jobs", "a");
    locked.release();
    over.acquire();
  });
  locked.acquire();
  ExpireLock(*store, "jobs", "a");
  mutex.lock();
  over.release();
  thread.join();
  EXPECT_TRUE(mutex.held());
}

TEST_P(MutexThreadsTest, OnlyTheThreadThatLockedItUnlocksIt) {
  NamedMutex mutex = jobs.Mutex("a");
  mutex.lock();
  std::jthread([&] { mutex.unlock(); }).join();
  EXPECT_TRUE(mutex.held());
  mutex.unlock();
  EXPECT_FALSE(mutex.held());
}

/// Locks when the thread's variables go: those that were made before it are there still.
struct LocksAtTheEnd {
  NamedMutex* mutex = nullptr;
  bool locked = false;
  ~LocksAtTheEnd() {
    if (mutex == nullptr) return;
    const std::scoped_lock lock(*mutex);
    locked = mutex->held();
    EXPECT_TRUE(locked);
  }
};

TEST_P(MutexThreadsTest, AThreadsVariablesMayLockWhenItEnds) {
  NamedMutex mutex = jobs.Mutex("a");
  NamedMutex other = jobs.Mutex("b");
  std::jthread([&] {
    thread_local LocksAtTheEnd last;  // made first, destroyed last
    last.mutex = &mutex;
    other.lock();  // left to the end of the thread
  }).join();
  EXPECT_TRUE(mutex.try_lock());
}

TEST_P(MutexThreadsTest, RecursionIsCountedPerThread) {
  RecursiveNamedMutex mutex = jobs.RecursiveMutex("a");
  mutex.lock();
  std::jthread([&] {
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();  // not this thread's
  }).join();
  EXPECT_TRUE(mutex.held());
}

}  // namespace
}  // namespace doclock::named
