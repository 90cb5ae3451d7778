#include <atomic>
#include <thread>

#include "repository/support/harness.h"

namespace doclock {
namespace {

/// A stop request during a blocking wait, in virtual time.
class StopTest : public RepositoryTest {
 protected:
  void SetUp() override { sagas.Insert(Saga{"42", "42"}); }
  /// The code of what `wait` throws when it is stopped after three seconds.
  std::optional<Errc> Stopped(const std::function<void(std::stop_token)>& wait) {
    std::stop_source stop;
    begin_ = clock->Now();
    runtime_->Schedule(begin_ + 3s, [&] { stop.request_stop(); });
    return CodeOf([&] { wait(stop.get_token()); });
  }

  std::shared_ptr<Runtime> runtime_ = clock->runtime();
  TimePoint begin_{};
};
DOCLOCK_FOR_ALL_STORES(StopTest);

TEST_P(StopTest, EndsEveryWaitThatHasNoEnd) {
  sagas.Insert(Saga{"41"});
  auto held = sagas.Lock("42");
  const LockOptions forever{.wait = kForever};
  const Filter of_42 = Filter{}.Equal("step", "42");
  const auto must_not_run = [](Saga&) { ADD_FAILURE() << "it has no lock"; };
  const std::pair<const char*, std::function<void(std::stop_token)>> waits[] = {
      {"Lock", [&](auto stop) { (void)sagas.Lock("42", forever, stop); }},
      {"TryLock", [&](auto stop) { (void)sagas.TryLock("42", forever, stop); }},
      {"TryLockAll",
       [&](auto stop) {
         (void)sagas.TryLockAll({"41", "42"}, forever, stop);
       }},
      {"TryLockNext", [&](auto stop) { (void)sagas.TryLockNext(of_42, forever, stop); }},
      {"With", [&](auto stop) { sagas.With("42", must_not_run, forever, stop); }},
      {"Update", [&](auto stop) { sagas.Update("42", must_not_run, stop); }},
  };
  for (const auto& [name, wait] : waits) {
    EXPECT_EQ(Stopped(wait), Errc::kCancelled) << name;
    EXPECT_EQ(clock->Now() - begin_, 3s) << name;
    clock->RunPending();
    EXPECT_FALSE(IsLocked("41")) << name;
  }
  EXPECT_EQ(Version("41"), 3) << "locked by TryLockAll, and given back";
}

/// A stop request while other threads wait.
class StopThreadsTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(GetParam().open(nullptr));
  LockManager manager{store};
  LockingRepository<Saga> sagas{manager, "sagas"};
};
DOCLOCK_FOR_ALL_STORES(StopThreadsTest);

TEST_P(StopThreadsTest, WakesWaiters) {
  auto held = sagas.Lock({"42", Saga{"42"}});
  std::stop_source stop;
  std::optional<Errc> lock, next;
  // LockNext is not executed in batches.
  std::atomic<int> lock_attempts = 0;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind == OpKind::kAcquire) ++lock_attempts;
  });
  const auto searches = [&] {
    const int attempts = store->Count(OpKind::kAcquire);
    return attempts - lock_attempts;
  };
  store->Reset();
  {
    const std::jthread locker([&] {
      lock = CodeOf([&] { (void)sagas.Lock("42", {.wait = kForever}, stop.get_token()); });
    });
    const std::jthread searcher([&] {
      next = CodeOf([&] { (void)sagas.LockNext(Filter{}, {.wait = kForever}, stop.get_token()); });
    });
    while (lock_attempts < 2 || searches() < 1) std::this_thread::yield();
    stop.request_stop();
  }
  store->OnExecute({});
  EXPECT_EQ(lock, Errc::kCancelled);
  EXPECT_EQ(next, Errc::kCancelled);
  held.Release();
  EXPECT_TRUE(sagas.TryLock("42", {.wait = 10s})) << "nothing is left behind";
}

}  // namespace
}  // namespace doclock
