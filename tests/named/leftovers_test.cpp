/// Locks, waits and mutexes leave nothing behind in the process that used them.

#include <barrier>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <tuple>

#include "engine/runtime/passing_runtime.h"
#include "named/harness.h"
#include "named/mutex_state.h"
#include "named/shared_mutex_state.h"

namespace doclock::named {
namespace {

/// Counts the timers that stand.
class CountingRuntime final : public test::PassingRuntime {
 public:
  using PassingRuntime::PassingRuntime;

  [[nodiscard]] long timers() const { return mark_.use_count() - 1; }

  TimerId Schedule(TimePoint when, Task task) override {
    return PassingRuntime::Schedule(when, [task = std::move(task), mark = mark_] { task(); });
  }

 private:
  const std::shared_ptr<int> mark_ = std::make_shared<int>();
};

class LeftoversTest : public NamedTest {
 protected:
  /// The remaining references to the engine and the collection. Locks, waits and mutexes hold some.
  [[nodiscard]] std::tuple<long, long> Left() {
    clock->Advance(2min);
    return {counted.engine().use_count(), runtime->timers()};
  }
  void HoldAndGiveBack() {
    mine.Acquire("a").Release();
    (void)mine.Acquire("a");
    auto handed = mine.Acquire("a");
    auto waiting = mine.AcquireAsync("a", {.wait = 10h});  // it does not take that long
    clock->RunPending();
    handed.Release();
    Get(std::move(waiting)).Release();
    auto share = mine.Acquire("a", {.mode = LockMode::kShared});
    auto all = mine.AcquireAll({"b", "c"});
    auto left = mine.Acquire("d", {.ttl = 1s});
    left.Detach();
  }
  void Lose() {
    auto lost = mine.Acquire("a", {.ttl = 1s});
    const std::stop_callback told(lost.lost(), [] {});
    StealLock(*store, "jobs", "a");
    clock->Advance(2s);
    EXPECT_FALSE(lost.held());
    BreakLock(*store, "jobs", "a");
  }
  void WaitInVain() {
    auto held = others.Acquire("a");
    EXPECT_FALSE(mine.TryAcquire("a"));
    EXPECT_FALSE(mine.TryAcquire("a", {.wait = 1s}));
    EXPECT_FALSE(mine.TryAcquireAll({"0", "a"}, {.wait = 1s}));
    boost::asio::cancellation_signal signal;
    mine.AcquireAsync("a", {.wait = 10h},
                      boost::asio::bind_cancellation_slot(
                          signal.slot(), [](const std::exception_ptr&, const HeldLock&) {}));
    clock->RunPending();
    signal.emit(boost::asio::cancellation_type::terminal);
    clock->RunPending();
  }
  void UseMutexes() {
    NamedMutex plain = mine.Mutex("a");
    { const std::scoped_lock lock(plain); }
    RecursiveNamedMutex recursive = mine.RecursiveMutex("b");
    recursive.lock();
    recursive.lock();  // destroyed while it is locked
    SharedNamedMutex shared = mine.SharedMutex("c");
    { const std::shared_lock reader(shared); }
    EXPECT_TRUE(shared.try_lock());
    EXPECT_FALSE(shared.try_lock_shared());
  }

  const std::shared_ptr<CountingRuntime> runtime =
      std::make_shared<CountingRuntime>(clock->runtime());
  LockManager counted{store, {.runtime = runtime}};
  const LockProvider mine{counted, "jobs"};
  const LockProvider others{AnotherManager(), "jobs"};
};
DOCLOCK_FOR_ALL_STORES(LeftoversTest);

TEST_P(LeftoversTest, ThereAreNoneOfLocksWaitsAndMutexes) {
  const auto before = Left();
  for (int i = 0; i < 5; ++i) {
    HoldAndGiveBack();
    Lose();
    WaitInVain();
    UseMutexes();
    clock->Advance(2s);
  }
  EXPECT_EQ(Left(), before);
}

TEST_P(LeftoversTest, AThreadForgetsMutexesThatWereDestroyedLocked) {
  for (int i = 0; i < 50; ++i) {
    NamedMutex mutex = jobs.Mutex("a" + std::to_string(i));
    mutex.lock();
  }
  EXPECT_LE(detail::MutexesOfThisThread(), 20U);
}

class LeftoversThreadsTest : public NamedThreadsTest {};
DOCLOCK_FOR_ALL_STORES(LeftoversThreadsTest);

TEST_P(LeftoversThreadsTest, AThreadRemembersNoMutexThatItUnlocked) {
  std::jthread([&] {
    for (int i = 0; i < 20; ++i) {
      NamedMutex mutex = jobs.Mutex("a" + std::to_string(i));
      const std::scoped_lock lock(mutex);
      EXPECT_EQ(detail::MutexesOfThisThread(), 1U);
    }
    EXPECT_EQ(detail::MutexesOfThisThread(), 0U);
  }).join();
}

TEST_P(LeftoversThreadsTest, AThreadForgetsMutexesThatItLost) {
  std::size_t remembered = 0;
  std::jthread([&] {
    NamedMutex kept = jobs.Mutex("kept");
    kept.lock();
    for (int i = 0; i < 50; ++i) {
      NamedMutex mutex = jobs.Mutex("a" + std::to_string(i));
      mutex.lock();
      StealLock(*store, "jobs", mutex.name());
      ExpireLock(*store, "jobs", mutex.name());
      std::jthread([&] { mutex.lock(); }).join();
    }
    remembered = detail::MutexesOfThisThread();
    EXPECT_TRUE(kept.held());
  }).join();
  EXPECT_LE(remembered, 20U);
  EXPECT_TRUE(jobs.Mutex("kept").try_lock_for(10s)) << "given back when the thread ended";
}

TEST_P(LeftoversThreadsTest, ASharedMutexForgetsThreadsThatEnded) {
  const detail::BindingPtr binding = detail::Bind(manager, "jobs", {}, {});
  const detail::AcquireSpec alone = detail::SpecFor(*binding, {}, Key("a"), Body::FromText("{}"));
  detail::AcquireSpec shared = alone;
  shared.mode = LockMode::kShared;
  detail::SharedMutexState mutex(manager, binding, alone, shared);
  const long before = binding.use_count();
  {
    std::barrier together(20);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&] {
        EXPECT_TRUE(mutex.LockShared(kForever));
        together.arrive_and_wait();
        EXPECT_EQ(binding.use_count(), before + 20) << "one for each thread that shares it";
        together.arrive_and_wait();
      });
    }
  }
  EXPECT_TRUE(mutex.LockShared(kForever));
  EXPECT_EQ(binding.use_count(), before + 1);
}

}  // namespace
}  // namespace doclock::named
