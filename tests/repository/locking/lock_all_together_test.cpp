/// LockAll tries all locks in one call of the store.

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "doclock/testing/faulty_store.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

/// A store that is asked by calls, which it counts and can hold up.
class CallsStore : public testing::FaultyStore {
 public:
  explicit CallsStore(int lanes) : FaultyStore(OpenMemoryStore()), lanes_(lanes) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    return {.lanes = lanes_, .max_batch = 16, .immediate = false};
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    {
      std::unique_lock lock(mutex_);
      const auto is_attempt = [](const StoreOp* op) { return op->kind == OpKind::kAcquire; };
      const auto attempts = std::count_if(ops.begin(), ops.end(), is_attempt);
      if (attempts > 0) attempts_.push_back(attempts);
      ++calls_;
      ++all_calls_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
    }
    FaultyStore::Execute(ops, budget);
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    {
      std::unique_lock lock(mutex_);
      ++calls_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return searches_open_; });
    }
    FaultyStore::AcquireNext(filter, op, key, budget);
  }
  void ShutSearches() {
    const std::lock_guard lock(mutex_);
    searches_open_ = false;
    calls_ = 0;
  }
  /// How many locks each call has asked for, since the last time.
  std::vector<std::ptrdiff_t> Attempts() {
    const std::lock_guard lock(mutex_);
    return std::exchange(attempts_, {});
  }
  /// How many calls there were, since the last time.
  int AllCalls() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_calls_, 0);
  }
  void Shut() {
    const std::lock_guard lock(mutex_);
    open_ = false;
    calls_ = 0;
  }
  void AwaitCalls(int calls) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_ >= calls; });
  }
  void OpenUp() {
    const std::lock_guard lock(mutex_);
    open_ = searches_open_ = true;
    changed_.notify_all();
  }

 private:
  const int lanes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::ptrdiff_t> attempts_;
  bool open_ = true;
  bool searches_open_ = true;
  int calls_ = 0;
  int all_calls_ = 0;
};

/// The parameter: how many lanes the store has.
class LockAllTogether : public ::testing::TestWithParam<int> {
 protected:
  LockAllTogether() {
    for (const char* key : {"a", "b", "c"}) sagas.Insert(Saga{key});
  }

  static void ReleaseAll(std::vector<Locked<Saga>> all) {
    for (auto& saga : all) saga.Release();
  }

  std::shared_ptr<CallsStore> store = std::make_shared<CallsStore>(GetParam());
  LockManager manager{store}, other{store};
  LockingRepository<Saga> sagas{manager, "sagas"}, others{other, "sagas"};
};

TEST_P(LockAllTogether, AllAreAskedForInOneCall) {
  using Calls = std::vector<std::ptrdiff_t>;
  store->AllCalls();
  auto all = sagas.LockAll({"c", "a", "b"}, {.wait = 10s});
  EXPECT_EQ(store->AllCalls(), 1);
  EXPECT_EQ(store->Attempts(), Calls{3});
  ReleaseAll(std::move(all));
  ReleaseAll(sagas.LockAll({"b", "c"}, {.wait = kForever}));
  EXPECT_EQ(store->Attempts(), Calls{2}) << "on the caller's thread";
  ReleaseAll(sagas.LockAllAsync({"a", "b"}, {.wait = kForever}).get());
  EXPECT_EQ(store->Attempts(), Calls{2});
}

TEST_P(LockAllTogether, ACallTakesNoMoreThanTheStoreDoes) {
  std::vector<Key> keys;
  for (int i = 0; i < 20; ++i) keys.emplace_back("of many " + std::to_string(i));
  for (const Key& key : keys) sagas.Insert(Saga{key.ToString()});
  ReleaseAll(sagas.LockAll(keys, {.wait = 10s}));
  const auto attempts = store->Attempts();
  ASSERT_EQ(attempts.size(), 5U);
  EXPECT_EQ(attempts.front(), 16);
}

TEST_P(LockAllTogether, ALostReplyIsSettledForEachLock) {
  store->Inject({.kind = testing::Fault::Kind::kLostAfter, .op = OpKind::kAcquire, .times = 3});
  auto all = sagas.LockAll({"a", "b", "c"}, {.wait = 10s});
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(store->Attempts().front(), 3);
  EXPECT_FALSE(others.TryLock("b"));
  ReleaseAll(std::move(all));
  EXPECT_TRUE(others.Lock("b", {.wait = 10s}));
}

TEST_P(LockAllTogether, NothingIsAskedForAfterAStop) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(CodeOf([&] {
              (void)sagas.LockAll({"a", "b"}, {.wait = 5s}, stop.get_token());
            }),
            Errc::kCancelled);
  EXPECT_TRUE(store->Attempts().empty());
}

TEST_P(LockAllTogether, AWaitThatIsOverTimesOut) {
  auto a = others.Lock("a");
  EXPECT_EQ(CodeOf([&] { (void)sagas.LockAll({"a", "b"}, {.wait = 1ms}); }), Errc::kTimedOut);
}

TEST_P(LockAllTogether, OfThoseThatAreNotAllFreeNoneIsKept) {
  auto b = others.Lock("b");
  EXPECT_FALSE(sagas.TryLockAll({"a", "b", "c"}));
  EXPECT_TRUE(others.Lock("a", {.wait = 10s}));
  EXPECT_TRUE(others.Lock("c", {.wait = 10s}));
}

TEST_P(LockAllTogether, ThoseBehindOneThatIsNotFreeAreTakenAfterIt) {
  auto b = others.Lock("b");
  auto all =
      sagas.LockAllAsync({"a", "b", "c"}, {.wait = kForever, .hold_while_waiting = kForever});
  EXPECT_TRUE(others.Lock("c", {.wait = 10s}));
  b.Release();
  auto locked = all.get();
  ASSERT_EQ(locked.size(), 3U);
  EXPECT_EQ(locked[2]->id, "c");
}

TEST_P(LockAllTogether, AStopEndsTheWaitForTheCall) {
  store->Shut();
  std::stop_source stop;
  std::jthread stopper([&] {
    store->AwaitCalls(1);
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

TEST_P(LockAllTogether, NoSearchDelaysTheCall) {
  store->ShutSearches();
  std::vector<std::future<std::optional<Locked<Saga>>>> searches;
  for (int i = 0; i < GetParam(); ++i) searches.push_back(sagas.TryLockNextAsync({}));
  store->AwaitCalls(GetParam());
  const auto failed = CodeOf([&] { ReleaseAll(sagas.LockAll({"a", "b"}, {.wait = 10s})); });
  store->OpenUp();
  EXPECT_EQ(failed, std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Lanes, LockAllTogether, ::testing::Values(1, 8));

}  // namespace
}  // namespace doclock
