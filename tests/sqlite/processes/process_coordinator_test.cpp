// The queue before SQLite's write lock, between processes.

#include "sqlite/processes/process_coordinator.h"

#include <signal.h>

#include <atomic>
#include <thread>

#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

using sqlite::DeadlineIn;
using sqlite::ProcessCoordinator;

class SqliteCoordinator : public SqliteTest {
 protected:
  void SetUp() override {
    DOCLOCK_NEEDS_COORDINATOR();
    Client(file_).Insert("1");
  }
  Child Occupant() {
    Child occupant({"turn", file_.string()});
    EXPECT_EQ(occupant.Line(), "inside");
    return occupant;
  }
};

TEST_F(SqliteCoordinator, LetsOneInAtATime) {
  const auto coordinator = ProcessCoordinator::Open(file_, DeadlineIn(1s));
  Child occupant = Occupant();
  EXPECT_FALSE(coordinator->Enter(DeadlineIn(50ms)));
  occupant.Say("leave");
  EXPECT_EQ(occupant.Line(), "left");
  ASSERT_TRUE(coordinator->Enter(DeadlineIn(10s)));
  coordinator->Leave();
}

TEST_F(SqliteCoordinator, IsFreeWhenItsOccupantIsKilled) {
  const auto coordinator = ProcessCoordinator::Open(file_, DeadlineIn(1s));
  for (int i = 0; i < 10; ++i) {
    Child occupant = Occupant();
    occupant.Kill();
    ASSERT_TRUE(coordinator->Enter(DeadlineIn(10s)));
    coordinator->Leave();
  }
}

TEST_F(SqliteCoordinator, AStoppedOccupantIsAClearPassingError) {
  Client client(file_);
  Child occupant = Occupant();
  occupant.Signal(SIGSTOP);
  const Key key("1");
  AcquireOp op = client.AcquireOf(key);
  client.Execute({&op}, 200ms);
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
  EXPECT_NE(op.detail->message.find("keeps the database busy"), std::string::npos) << Why(op);
  occupant.Signal(SIGCONT);
  occupant.Say("leave");
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kDone);
}

TEST_F(SqliteCoordinator, AStateLeftBehindIsMadeAnew) {
  {
    // Inside, and gone without leaving: as after a crash of the machine.
    Child occupant = Occupant();
    occupant.Kill();
  }
  Client client(file_);
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kDone);
}

TEST_F(SqliteCoordinator, OpeningIsSafeWhenManyDoItAtOnce) {
  for (int round = 0; round < Rounds(20); ++round) {
    std::atomic<int> inside{0}, most{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const auto coordinator = ProcessCoordinator::Open(file_, DeadlineIn(20s));
        for (int n = 0; n < 20; ++n) {
          ASSERT_TRUE(coordinator->Enter(DeadlineIn(20s)));
          most = std::max(most.load(), ++inside);
          --inside;
          coordinator->Leave();
        }
      });
    }
    threads.clear();
    EXPECT_EQ(most, 1);
  }
}

TEST_F(SqliteCoordinator, SlotsTellTheLivingFromTheDeadAndFromStrangers) {
  using sqlite::Liveness;
  const auto coordinator = ProcessCoordinator::Open(file_, DeadlineIn(1s));
  std::int64_t slot = 0;
  {
    const auto other = ProcessCoordinator::Open(file_, DeadlineIn(1s));
    slot = other->slot();
    EXPECT_NE(slot, coordinator->slot());
    EXPECT_EQ(coordinator->Look(slot), Liveness::kAlive);
    EXPECT_EQ(other->Look(slot), Liveness::kAlive);
  }
  EXPECT_EQ(coordinator->Look(slot), Liveness::kDead);
  EXPECT_EQ(coordinator->Look(0), Liveness::kUnknown);
  EXPECT_EQ(coordinator->Look(slot ^ (std::int64_t{1} << 50)), Liveness::kUnknown);
}

/// A smoke test; the numbers that matter are those of benchmarks/.
TEST_F(SqliteCoordinator, NoProcessStarves) {
  std::vector<Child> children;
  for (int i = 0; i < 3; ++i) {
    children.emplace_back(std::vector<std::string>{"cycle", file_.string(), std::to_string(i),
                                                   kSanitized ? "1000" : "2000"});
  }
  for (Child& child : children) ASSERT_EQ(child.Line(), "ready");
  for (Child& child : children) child.Say("go");
  double sum = 0, squares = 0;
  for (Child& child : children) {
    const std::string line = child.Line().value_or("0 0");
    const double cycles = std::stod(line);
    std::cout << "[figures] cycles and longest in us: " << line << "\n";
    EXPECT_GT(cycles, 0);
    sum += cycles;
    squares += cycles * cycles;
  }
  const double jain = sum * sum / (static_cast<double>(children.size()) * squares);
  std::cout << "[figures] Jain's index " << jain << "\n";
  EXPECT_GT(jain, 0.5) << "one of three got everything";
}

}  // namespace
}  // namespace doclock::sqlite_test
