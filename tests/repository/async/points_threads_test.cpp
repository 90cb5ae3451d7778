/// As points_test.cpp, with real threads: a manager closes or goes at any moment of its operations.

#include <atomic>
#include <random>
#include <semaphore>
#include <thread>
#include <tuple>

#include "doclock/lock_provider.h"
#include "repository/support/harness.h"

namespace doclock::points_threads_test {
namespace {

/// Counts the calls of handlers, and on whose thread they came.
class Calls {
 public:
  auto Handler() {
    ++expected_;
    return [this](std::exception_ptr, auto&&... results) {
      if (std::this_thread::get_id() == caller_) ++on_caller_;
      {
        // Before the call is counted: once its manager has closed, a dropped lock is not released.
        [[maybe_unused]] const std::tuple dropped(std::move(results)...);
      }
      called_.release();
    };
  }
  /// Waits for all of them.
  [[nodiscard]] bool All() {
    for (int i = 0; i < expected_; ++i) {
      if (!called_.try_acquire_for(1min)) return false;
    }
    return true;
  }
  [[nodiscard]] bool MoreThanOnce() { return called_.try_acquire(); }
  [[nodiscard]] int on_caller() const { return on_caller_; }

 private:
  const std::thread::id caller_ = std::this_thread::get_id();
  int expected_ = 0;
  std::atomic<int> on_caller_ = 0;
  std::counting_semaphore<> called_{0};
};

class PointsThreadsTest : public ThreadsTest {
 protected:
  static void StartAll(const LockingRepository<Saga>& sagas, const LockProvider& names,
                       Calls& calls) {
    sagas.LockAsync("1", {.wait = 1min}, calls.Handler());
    sagas.TryLockAsync("2", {}, calls.Handler());
    sagas.LockAllAsync({"1", "2"}, {.wait = 1min}, calls.Handler());
    sagas.LockNextAsync(Filter(), {.wait = 1min}, calls.Handler());
    sagas.FindAsync("1", calls.Handler());
    sagas.FindAsync(Filter(), calls.Handler());
    sagas.UpdateAsync(
        "1", [](Saga& saga) { ++saga.attempts; }, calls.Handler());
    names.AcquireAsync("1", {.wait = 1min}, calls.Handler());
    names.AcquireAllAsync({"1", "2"}, {.wait = 1min}, calls.Handler());
  }
  /// Some time that ends at any point of the operations.
  void Dawdle() {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::microseconds(std::uniform_int_distribution(0, 2000)(random_));
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

  enum class How { kEnd, kClose, kDestroy };
  /// A lock that was granted before a manager closed is free when its lease of `ttl` ends.
  void Play(How how, Duration ttl, int rounds) {
    const LockingRepository<Saga> others(manager, "sagas", {.ttl = ttl});
    const LockProvider other_names(manager, "names", {.ttl = ttl});
    others.Insert(Saga{"1"});
    others.Insert(Saga{"2"});
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      Calls calls;
      std::optional<LockManager> closing(store);
      std::optional<LockingRepository<Saga>> sagas(std::in_place, *closing, "sagas",
                                                   RepositoryOptions{.ttl = ttl});
      std::optional<LockProvider> names(std::in_place, *closing, "names",
                                        LockProviderOptions{.ttl = ttl});
      StartAll(*sagas, *names, calls);
      if (how != How::kEnd) Dawdle();
      if (how == How::kClose) closing->Close();
      if (how == How::kEnd) {
        ASSERT_TRUE(calls.All());
        EXPECT_EQ(calls.on_caller(), 0);
      }
      sagas.reset();
      names.reset();
      closing.reset();
      if (how != How::kEnd) {
        ASSERT_TRUE(calls.All());
      }
      EXPECT_FALSE(calls.MoreThanOnce());
      for (const std::string key : {"1", "2"}) {
        EXPECT_TRUE(others.TryLock(key, {.wait = 20s})) << key;
        EXPECT_TRUE(other_names.TryAcquire(key, {.wait = 20s})) << key;
      }
    }
  }

  std::minstd_rand random_{1};
};
DOCLOCK_FOR_ALL_STORES(PointsThreadsTest);

TEST_P(PointsThreadsTest, EachHandlerIsCalledOnceAndNothingStaysLocked) {
  Play(How::kEnd, 30s, 20);
}

TEST_P(PointsThreadsTest, EachHandlerIsCalledOnceWhenItsManagerCloses) {
  Play(How::kClose, 300ms, 10);
}

TEST_P(PointsThreadsTest, EachHandlerIsCalledOnceWhenItsManagerGoes) {
  Play(How::kDestroy, 300ms, 10);
}

}  // namespace
}  // namespace doclock::points_threads_test
