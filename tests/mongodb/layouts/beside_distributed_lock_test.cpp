// Processes of doclock beside processes of a re-created DistributedLock.MongoDB, in one collection:
// histories of both sides, and one checker.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <thread>

#include "mongodb/helper/contend.h"
#include "mongodb/support/raw_server.h"
#include "process/child.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;

constexpr auto kTtl = 3000ms;

/// What a process held, by the clock that all share, in nanoseconds.
struct Hold {
  std::int64_t sent = 0, from = 0, to = 0, token = 0, waited_ms = 0;
  std::string who;
  bool open = false;  ///< It had it when it was killed.
};

/// The holds that a process tells of; of several workers at most one has the lock.
std::vector<Hold> HoldsIn(const std::vector<std::string>& lines, const std::string& who) {
  std::vector<Hold> holds;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "got") {
      Hold& hold = holds.emplace_back();
      words >> hold.sent >> hold.from >> hold.token >> hold.waited_ms;
      hold.who = who;
      hold.open = true;
    } else {
      EXPECT_FALSE(holds.empty() || !holds.back().open) << line;
      if (holds.empty()) break;
      words >> holds.back().to;
      holds.back().open = false;
    }
  }
  return holds;
}

class BesideDistributedLock : public ::testing::Test {
 protected:
  test::Child Start(const std::string& kind, int workers, std::chrono::milliseconds hold,
                    std::chrono::milliseconds rest) {
    const auto text = [](std::chrono::milliseconds time) { return std::to_string(time.count()); };
    return test::Child({kind, SetUri(), database_.name(), "job", std::to_string(workers),
                        text(kTtl), text(hold), text(rest)});
  }
  /// No two holds overlap. That of a killed process lasts as long as the lease of its grant.
  static void CheckExclusion(std::vector<Hold> holds) {
    std::sort(holds.begin(), holds.end(),
              [](const Hold& a, const Hold& b) { return a.from < b.from; });
    for (std::size_t i = 1; i < holds.size(); ++i) {
      const Hold& before = holds[i - 1];
      const std::int64_t end =
          before.open ? before.sent + std::chrono::nanoseconds(kTtl).count() : before.to;
      EXPECT_GE(holds[i].from, end) << holds[i].who << " beside " << before.who;
    }
  }
  static void CheckFences(const std::vector<Hold>& ours) {
    for (std::size_t i = 1; i < ours.size(); ++i) EXPECT_GT(ours[i].token, ours[i - 1].token);
  }
  static std::vector<Hold> Join(const std::vector<std::vector<Hold>>& some) {
    std::vector<Hold> all;
    for (const auto& one : some) all.insert(all.end(), one.begin(), one.end());
    return all;
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
  auto all = Join(holds);
  CheckExclusion(all);
  std::vector<Hold> ours = Join({holds[0], holds[1]});
  std::sort(ours.begin(), ours.end(), [](auto& a, auto& b) { return a.from < b.from; });
  CheckFences(ours);
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
  CheckExclusion(Join({ours, theirs}));
  CheckFences(ours);
  ASSERT_GT(theirs.size(), 2U);
  std::int64_t longest = 0;
  for (const Hold& hold : theirs) longest = std::max(longest, hold.waited_ms);
  EXPECT_LT(longest, 5000);
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
    CheckExclusion(Join({before, after}));
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
