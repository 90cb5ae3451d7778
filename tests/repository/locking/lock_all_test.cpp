#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

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

TEST_P(LockAllTest, NoKeysAreNoLocks) {
  EXPECT_TRUE(sagas.LockAll({}).empty());
  EXPECT_TRUE(Get(sagas.LockAllAsync({})).empty());
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

}  // namespace
}  // namespace doclock
