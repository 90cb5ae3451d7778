/// LockAll tries all locks in one call of the store.

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "doclock/testing/faulty_store.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

/// A store of one lane that is asked by calls, which it counts and can hold up.
class CallsStore : public testing::FaultyStore {
 public:
  CallsStore() : FaultyStore(OpenMemoryStore()) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    return {.lanes = 1, .max_batch = 16, .immediate = false};
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    {
      std::unique_lock lock(mutex_);
      const auto is_attempt = [](const StoreOp* op) { return op->kind == OpKind::kAcquire; };
      const auto attempts = std::count_if(ops.begin(), ops.end(), is_attempt);
      if (attempts > 0) attempts_.push_back(attempts);
      ++calls_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
    }
    FaultyStore::Execute(ops, budget);
  }
  /// How many locks each call has asked for, since the last time.
  std::vector<std::ptrdiff_t> Attempts() {
    const std::lock_guard lock(mutex_);
    return std::exchange(attempts_, {});
  }
  void Shut() {
    const std::lock_guard lock(mutex_);
    open_ = false;
    calls_ = 0;
  }
  void AwaitCall() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_ > 0; });
  }
  void OpenUp() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::ptrdiff_t> attempts_;
  bool open_ = true;
  int calls_ = 0;
};

class LockAllTogether : public ::testing::Test {
 protected:
  LockAllTogether() {
    for (const char* key : {"a", "b", "c"}) sagas.Insert(Saga{key});
  }

  static void ReleaseAll(std::vector<Locked<Saga>> all) {
    for (auto& saga : all) saga.Release();
  }

  std::shared_ptr<CallsStore> store = std::make_shared<CallsStore>();
  LockManager manager{store}, other{store};
  LockingRepository<Saga> sagas{manager, "sagas"}, others{other, "sagas"};
};

TEST_F(LockAllTogether, AllAreAskedForInOneCall) {
  using Calls = std::vector<std::ptrdiff_t>;
  ReleaseAll(sagas.LockAll({"c", "a", "b"}, {.wait = 10s}));
  EXPECT_EQ(store->Attempts(), Calls{3});
  ReleaseAll(sagas.LockAllAsync({"a", "b"}, {.wait = kForever}).get());
  EXPECT_EQ(store->Attempts(), Calls{2});
}

TEST_F(LockAllTogether, NothingIsAskedForAfterAStop) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(CodeOf([&] {
              (void)sagas.LockAll({"a", "b"}, {.wait = 5s}, stop.get_token());
            }),
            Errc::kCancelled);
  EXPECT_TRUE(store->Attempts().empty());
}

TEST_F(LockAllTogether, AWaitThatIsOverTimesOut) {
  auto a = others.Lock("a");
  EXPECT_EQ(CodeOf([&] { (void)sagas.LockAll({"a", "b"}, {.wait = 1ms}); }), Errc::kTimedOut);
}

TEST_F(LockAllTogether, OfThoseThatAreNotAllFreeNoneIsKept) {
  auto b = others.Lock("b");
  EXPECT_FALSE(sagas.TryLockAll({"a", "b", "c"}));
  EXPECT_TRUE(others.Lock("a", {.wait = 10s}));
  EXPECT_TRUE(others.Lock("c", {.wait = 10s}));
}

TEST_F(LockAllTogether, ThoseBehindOneThatIsNotFreeAreTakenAfterIt) {
  auto b = others.Lock("b");
  auto all =
      sagas.LockAllAsync({"a", "b", "c"}, {.wait = kForever, .hold_while_waiting = kForever});
  EXPECT_TRUE(others.Lock("c", {.wait = 10s}));
  b.Release();
  auto locked = all.get();
  ASSERT_EQ(locked.size(), 3U);
  EXPECT_EQ(locked[2]->id, "c");
}

TEST_F(LockAllTogether, AStopEndsTheWaitForTheCall) {
  store->Shut();
  std::stop_source stop;
  std::jthread stopper([&] {
    store->AwaitCall();
    stop.request_stop();
  });
  EXPECT_EQ(CodeOf([&] {
              (void)sagas.LockAll({"a", "b"}, {.wait = kForever}, stop.get_token());
            }),
            Errc::kCancelled);
  store->OpenUp();
  EXPECT_TRUE(others.Lock("a", {.wait = 10s}));
  EXPECT_TRUE(others.Lock("b", {.wait = 10s}));
}

}  // namespace
}  // namespace doclock
