// kill -9 of waiters, before, while and after the lock is passed on to them. The next in the queue
// gets it all the same.

#include <list>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "sqlite/support/count.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"

namespace doclock::sqlite_test {
namespace {

class SqliteQueueKill : public SqliteTest {
 protected:
  void SetUp() override {
    DOCLOCK_NEEDS_COORDINATOR();
    held_ = client_.Create("1");
    ASSERT_EQ(held_.status, OpStatus::kDone) << Why(held_);
  }
  Child Waiter() {
    Child waiter({"wait", file_.string(), "1"});
    EXPECT_EQ(waiter.Line(), "queued");
    return waiter;
  }
  /// What comes of the next attempt of a waiter.
  static std::string Ask(Child& waiter) {
    waiter.Say("again");
    return waiter.Line().value_or("dead");
  }
  static std::string Granted(std::int64_t version) { return "granted " + std::to_string(version); }

  Client client_{file_, {.sync = SqliteSync::kNormal}};
  AcquireOp held_{client_.collection(), key_};
  static inline const Key key_{"1"};
};

TEST_F(SqliteQueueKill, ALivingWaiterIsGrantedTheLockInItsTurn) {
  Child one = Waiter(), two = Waiter();
  EXPECT_EQ(client_.Release("1", held_).status, OpStatus::kDone);
  EXPECT_EQ(Ask(two), "queued");
  EXPECT_EQ(Ask(one), Granted(held_.result.version + 1));
  EXPECT_EQ(Ask(one), Granted(held_.result.version + 1)) << "asking again changes nothing";
}

TEST_F(SqliteQueueKill, BeforeItIsGrantedItIsLeftOut) {
  Child one = Waiter(), two = Waiter();
  one.Kill();
  EXPECT_EQ(client_.Release("1", held_).status, OpStatus::kDone);
  EXPECT_EQ(Ask(two), Granted(held_.result.version + 1));
}

/// The lock of the dead is free at once, long before its lease is over.
TEST_F(SqliteQueueKill, AfterItWasGrantedTheNextOneHasIt) {
  Child one = Waiter(), two = Waiter();
  EXPECT_EQ(client_.Release("1", held_).status, OpStatus::kDone);
  EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy);
  one.Kill();
  EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy) << "it helps the one that waits";
  EXPECT_EQ(Ask(two), Granted(held_.result.version + 2));
}

TEST_F(SqliteQueueKill, AfterItHasTheLockTheNextOneTakesItOver) {
  Child one = Waiter(), two = Waiter();
  EXPECT_EQ(client_.Release("1", held_).status, OpStatus::kDone);
  EXPECT_EQ(Ask(one), Granted(held_.result.version + 1));
  one.Kill();
  EXPECT_EQ(Ask(two), Granted(held_.result.version + 2));
}

/// Killed at any point of its attempt and of the release that may grant it the lock.
TEST_F(SqliteQueueKill, AtAnyMomentItKeepsNobodyOut) {
  std::mt19937 random(20261123);
  std::int64_t version = held_.result.version;
  for (int i = 0; i < Rounds(60); ++i) {
    Child victim = Waiter();
    Child next = Waiter();
    std::thread killer([&, pause = std::chrono::microseconds(random() % 400)] {
      victim.Say("again");
      std::this_thread::sleep_for(pause);
      victim.Kill();
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
    const WriteOp release = client_.Release("1", held_);
    killer.join();
    ASSERT_EQ(release.status, OpStatus::kDone) << Why(release);
    const std::string said = Ask(next);
    const bool first = said == Granted(version + 1);
    ASSERT_TRUE(first || said == Granted(version + 2)) << said;
    next.Kill();
    const AcquireOp held = client_.Acquire("1");
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_TRUE(held.result.took_over);
    held_.request.grant = held.request.grant;
    held_.result.version = version = held.result.version;
  }
}

/// The waiters of whole programs, which stand in the queue by themselves.
TEST_F(SqliteQueueKill, ProgramsGoOnWithoutTheOneThatWasKilled) {
  constexpr int kLeft = 3;
  const int times = Rounds(150);
  const Counters counters = OpenCounters(file_);
  counters.Insert("n", {{"count", 0}});
  const auto counter = [&] {
    return Child({"count", file_.string(), "n", std::to_string(times), "lock"});
  };
  std::list<Child> left;
  for (int i = 0; i < kLeft; ++i) left.push_back(counter());
  for (Child& child : left) ASSERT_EQ(child.Line(), "ready");
  for (Child& child : left) child.Say("go");
  const auto count = [&] { return (*counters.Find("n").value())["count"].get<int>(); };
  std::mt19937 random(20261124);
  int killed = 0;
  for (; count() < kLeft * times; ++killed) {
    Child victim = counter();
    ASSERT_EQ(victim.Line(), "ready");
    victim.Say("go");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    victim.Kill();
  }
  for (Child& child : left) EXPECT_EQ(child.Line(), "counted");
  EXPECT_GE(count(), kLeft * times);
  std::cout << "[figures] " << killed << " killed\n";
}

}  // namespace
}  // namespace doclock::sqlite_test
