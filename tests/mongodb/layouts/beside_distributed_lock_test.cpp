// Processes of doclock beside processes of a re-created DistributedLock.MongoDB, in one collection:
// histories of both sides, and one checker.

#include <gtest/gtest.h>
#include <signal.h>

#include <iostream>
#include <thread>

#include "mongodb/helper/contend.h"
#include "mongodb/layouts/history.h"
#include "mongodb/support/raw_server.h"
#include "process/child.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;

constexpr auto kTtl = 3000ms;

class BesideDistributedLock : public ::testing::Test {
 protected:
  test::Child Start(const std::string& kind, int workers, std::chrono::milliseconds hold,
                    std::chrono::milliseconds rest) {
    const auto text = [](std::chrono::milliseconds time) { return std::to_string(time.count()); };
    return test::Child({kind, SetUri(), database_.name(), "job", std::to_string(workers),
                        text(kTtl), text(hold), text(rest)});
  }
  Database database_{SetUri()};
};

TEST_F(BesideDistributedLock, TwoAndTwoExcludeEachOther) {
  std::vector<test::Child> children;
  for (const char* const kind : {"contend", "contend", "peer", "peer"}) {
    children.push_back(Start(kind, 1, 5ms, 20ms));
  }
  std::this_thread::sleep_for(10s);
  std::vector<std::vector<Hold>> holds;
  for (test::Child& child : children) child.Signal(SIGKILL);
  for (test::Child& child : children) holds.push_back(HoldsIn(child.Rest(), "a process"));
  for (const auto& one : holds) EXPECT_GT(one.size(), 1U) << "it got nowhere";
  CheckExclusion(Join(holds), kTtl);
  CheckFences(Join({holds[0], holds[1]}));
  std::cout << "holds: " << holds[0].size() << ", " << holds[1].size() << " / " << holds[2].size()
            << ", " << holds[3].size() << "\n";
}

/// Eight waiters of one process hand the lock over for two seconds, and then leave it free for
/// longer than the other library's waiters sleep.
TEST_F(BesideDistributedLock, EightLocalWaitersLeaveATurn) {
  test::Child crowd = Start("contend", 8, 5ms, 0ms);
  test::Child peer = Start("peer", 1, 5ms, 200ms);
  std::this_thread::sleep_for(15s);
  crowd.Signal(SIGKILL);
  peer.Signal(SIGKILL);
  const auto ours = HoldsIn(crowd.Rest(), "doclock");
  const auto theirs = HoldsIn(peer.Rest(), "the peer");
  CheckExclusion(Join({ours, theirs}), kTtl);
  CheckFences(ours);
  ASSERT_GT(theirs.size(), 2U);
  std::int64_t longest = 0;
  for (const Hold& hold : theirs) longest = std::max(longest, hold.waited_ms);
  // Two seconds and a half on a machine of its own. HandOverLimitTest has the rule without a clock.
  EXPECT_LT(longest, 12'000);
  std::cout << "holds: " << ours.size() << " / " << theirs.size() << ", the longest wait "
            << longest << " ms\n";
}

TEST_F(BesideDistributedLock, TheLockOfAKilledProcessIsTakenOver) {
  for (const auto& [killed, heir] : {std::pair("contend", "peer"), std::pair("peer", "contend")}) {
    test::Child dying = Start(killed, 1, 1h, 0ms);
    const auto got = dying.Line();
    ASSERT_TRUE(got);
    test::Child waiting = Start(heir, 1, 5ms, 0ms);
    dying.Kill();
    const auto next = waiting.Line();
    ASSERT_TRUE(next);
    waiting.Kill();
    const auto before = HoldsIn({*got}, killed), after = HoldsIn({*next}, heir);
    CheckExclusion(Join({before, after}), kTtl);
    std::cout << heir << " had it " << (after[0].from - before[0].sent) / 1'000'000
              << " ms after the grant, of a lease of " << kTtl.count() << "\n";
    database_.Run(mongodb::Doc::Of("drop", "locks"));
  }
}

/// A process that was stopped past its lease writes nothing afterwards.
TEST_F(BesideDistributedLock, AStoppedProcessHasLostIt) {
  test::Child stopped = Start("contend", 1, 1000ms, 1h);
  ASSERT_TRUE(stopped.Line());
  stopped.Signal(SIGSTOP);
  DistributedLockPeer peer(SetUri(), database_.name(), "locks");
  std::optional<DistributedLockPeer::Held> theirs;
  while (!(theirs = peer.TryAcquire("job", 60s))) std::this_thread::sleep_for(peer.Pause());
  stopped.Signal(SIGCONT);
  const auto told = stopped.Line();
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->starts_with("lost")) << *told;
  EXPECT_TRUE(peer.Renew("job", *theirs, 60s));
}

}  // namespace
}  // namespace doclock::mongo_test
