#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <thread>

#include "engine/runtime/passing_runtime.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

/// A runtime whose workers finish before the caller that gave them a task can go on.
class EagerRuntime : public test::PassingRuntime {
 public:
  using PassingRuntime::PassingRuntime;
  void Work(Task task) override { task(); }
};

class LockAllTest : public RepositoryTest {
 protected:
  void SetUp() override {
    for (const char* key : {"a", "b", "c"}) sagas.Insert(Saga{key});
  }

  /// Waits for "b" while it holds "a", and is cancelled.
  void CancelHalfWay(const LockingRepository<Saga>& repository) {
    const LockingRepository<Saga> others(AnotherManager(), "sagas");
    auto b = others.Lock("b");
    boost::asio::cancellation_signal signal;
    std::optional<Errc> code;
    repository.LockAllAsync(
        {"a", "b"}, {.wait = kForever, .hold_while_waiting = kForever},
        boost::asio::bind_cancellation_slot(
            signal.slot(), [&](const std::exception_ptr& error, std::vector<Locked<Saga>>) {
              code = CodeOf([&] {
                if (error) std::rethrow_exception(error);
              });
            }));
    clock->Advance(5s);
    EXPECT_TRUE(IsLocked("a"));
    signal.emit(boost::asio::cancellation_type::terminal);
    clock->RunPending();
    EXPECT_EQ(code, Errc::kCancelled);
    EXPECT_FALSE(IsLocked("a"));
    EXPECT_EQ(Version("a"), 3) << "locked once, given back once";
    b.Release();
    clock->Advance(5s);
    EXPECT_FALSE(IsLocked("b")) << "no caller waits for it any more";
    EXPECT_TRUE(repository.TryLock("b"));
  }
};
DOCLOCK_FOR_ALL_STORES(LockAllTest);

TEST_P(LockAllTest, LocksEachKeyOnceInOrder) {
  auto all = sagas.LockAll({"c", "a", "b", "a"});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]->id, "a");
  EXPECT_EQ(all[1]->id, "b");
  EXPECT_EQ(all[2]->id, "c");
  for (auto& saga : all) saga.Release();
}

TEST_P(LockAllTest, NoKeysAreNoLocks) {
  EXPECT_TRUE(sagas.LockAll({}).empty());
  EXPECT_TRUE(Get(sagas.LockAllAsync({})).empty());
}

TEST_P(LockAllTest, IsAllOrNothing) {
  auto b = sagas.Lock("b");
  try {
    (void)sagas.LockAll({"a", "b", "c"});
    FAIL();
  } catch (const LockException& error) {
    EXPECT_EQ(error.errc(), Errc::kBusy);
    EXPECT_NE(std::string(error.what()).find("'b'"), std::string::npos);
  }
  EXPECT_FALSE(sagas.TryLockAll({"a", "b", "c"}));
  EXPECT_FALSE(Get(sagas.TryLockAllAsync({"a", "b", "c"})));
  clock->RunPending();
  EXPECT_FALSE(IsLocked("a"));
  EXPECT_FALSE(IsLocked("c"));
}

TEST_P(LockAllTest, AMissingDocumentIsNamed) {
  try {
    (void)sagas.LockAll({"a", "missing"});
    FAIL();
  } catch (const NotFoundException& error) {
    EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos);
  }
  EXPECT_THROW((void)sagas.TryLockAll({"missing"}), NotFoundException);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("a"));
}

TEST_P(LockAllTest, OneTimeoutForAllTogether) {
  LockingRepository<Saga> others(AnotherManager(), "sagas");
  auto a = others.Lock("a", {.ttl = 4s, .renew = false});
  auto b = others.Lock("b", {.ttl = 8s, .renew = false});
  auto c = others.Lock("c", {.ttl = 1h, .renew = false});
  const auto begin = clock->Now();
  EXPECT_EQ(CodeOf([&] { (void)sagas.LockAll({"a", "b", "c"}, {.wait = 12s}); }), Errc::kTimedOut);
  EXPECT_GE(clock->Now() - begin, 12s);
  EXPECT_LT(clock->Now() - begin, 14s);
}

TEST_P(LockAllTest, WaitsAsynchronously) {
  auto b = sagas.Lock("b");
  auto all = sagas.LockAllAsync({"a", "b"}, {.wait = kForever});
  clock->Advance(1min);
  EXPECT_EQ(all.wait_for(0s), std::future_status::timeout);
  b.Release();
  clock->RunPending();
  EXPECT_EQ(Get(std::move(all)).size(), 2U);
}

TEST_P(LockAllTest, ALeaseThatEndedMeanwhileIsLost) {
  LockingRepository<Saga> others(AnotherManager(), "sagas");
  auto b = others.Lock("b", {.ttl = 10s, .renew = false});
  EXPECT_EQ(CodeOf([&] {
              (void)sagas.LockAll(
                  {"a", "b"},
                  {.ttl = 1s, .wait = 1min, .renew = false, .hold_while_waiting = kForever});
            }),
            Errc::kLost);
}

TEST_P(LockAllTest, CancellationGivesBackWhatItHoldsAlready) { CancelHalfWay(sagas); }

TEST_P(LockAllTest, CancellationWorksHoweverFastTheFirstLocksCome) {
  const LockManager eager(store, {.runtime = std::make_shared<EagerRuntime>(clock->runtime())});
  CancelHalfWay(LockingRepository<Saga>(eager, "sagas"));
}

class LockAllThreadsTest : public ThreadsTest {};
DOCLOCK_FOR_ALL_STORES(LockAllThreadsTest);

TEST_P(LockAllThreadsTest, CallersOfTheSameKeysNeverWaitForEachOther) {
  constexpr int kThreads = 4, kRounds = 25;
  const LockingRepository<Saga> sagas(manager, "sagas");
  for (const char* key : {"a", "b", "c"}) sagas.Insert(Saga{key});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back(
          [&, keys = t % 2 ? std::vector<Key>{"a", "b", "c"} : std::vector<Key>{"c", "a", "b"}] {
            for (int i = 0; i < kRounds; ++i) {
              auto all = sagas.LockAllAsync(keys, {.wait = kForever}).get();
              for (auto& saga : all) {
                ++saga->attempts;
                saga.Release();
              }
            }
          });
    }
  }
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_EQ((*sagas.Find(key))->attempts, kThreads * kRounds);
  }
}

TEST_P(LockAllTest, AStopRequestGivesBackWhatItHoldsAlready) {
  const std::shared_ptr<Runtime> runtime = clock->runtime();
  auto b = sagas.Lock("b");
  std::stop_source stop;
  runtime->Schedule(clock->Now() + 3s, [&] { stop.request_stop(); });
  EXPECT_EQ(CodeOf([&] {
              (void)sagas.LockAll({"a", "b"}, {.wait = kForever}, stop.get_token());
            }),
            Errc::kCancelled);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("a"));
  EXPECT_EQ(Version("a"), 3) << "locked once, given back once";
  b.Release();
  EXPECT_TRUE(sagas.TryLock("b"));
}

}  // namespace
}  // namespace doclock
