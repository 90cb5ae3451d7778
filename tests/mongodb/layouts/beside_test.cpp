// Processes of doclock beside processes of another library, in one collection: histories of both
// sides, and one checker.

#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <iostream>
#include <thread>

#include "mongodb/layouts/contender.h"
#include "mongodb/layouts/history.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;

constexpr auto kLeaseOfAll = 3000ms;

class Beside : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!IsThere(GetParam())) GTEST_SKIP() << RealMongoLock::kMissing;
    Prepare(GetParam(), SetUri(), database_.name());
  }
  test::Child Start(const std::string& kind, int workers, std::chrono::milliseconds hold,
                    std::chrono::milliseconds rest, int shares = 0) {
    return Contender(kind, GetParam(), SetUri(), database_.name(), workers, kLeaseOfAll, hold, rest,
                     shares);
  }
  Database database_{SetUri()};
};
INSTANTIATE_TEST_SUITE_P(All, Beside, ::testing::ValuesIn(kTheirs), NameOfTheirs);

TEST_P(Beside, TwoAndTwoExcludeEachOther) {
  std::vector<test::Child> children;
  for (const char* const kind : {"contend", "contend", "peer", "peer"}) {
    children.push_back(Start(kind, 1, 5ms, 20ms));
  }
  std::vector<std::vector<std::string>> lines;
  for (test::Child& child : children) lines.push_back(NextHolds(child, 2));
  std::this_thread::sleep_for(10s);
  const auto holds = KilledHolds(children, std::move(lines));
  CheckExclusion(Join(holds), kLeaseOfAll);
  CheckFences(Join({holds[0], holds[1]}));
  std::cout << "[figures] holds: " << holds[0].size() << ", " << holds[1].size() << " / "
            << holds[2].size() << ", " << holds[3].size() << "\n";
}

/// Eight waiters of one process hand the lock over for two seconds, and then leave it free for
/// longer than the other library's waiters sleep.
TEST_P(Beside, EightLocalWaitersLeaveATurn) {
  test::Child crowd = Start("contend", 8, 5ms, 0ms);
  std::vector<std::string> told = NextHolds(crowd, 2);
  // A full pipe would stop a worker while it has the lock, for good.
  auto rest = std::async(std::launch::async, [&] { return crowd.Rest(); });
  test::Child peer = Start("peer", 1, 5ms, 200ms);
  // The Java locks pause for longer each time, up to their ttl: how many turns they miss on a busy
  // machine is theirs.
  std::vector<std::string> seen = NextHolds(peer, GetParam() == "pessimisticlock" ? 1 : 3);
  crowd.Signal(SIGKILL);
  peer.Signal(SIGKILL);
  for (std::string& line : rest.get()) told.push_back(std::move(line));
  for (std::string& line : peer.Rest()) seen.push_back(std::move(line));
  const auto ours = HoldsIn(told, "doclock"), theirs = HoldsIn(seen, "the peer");
  CheckExclusion(Join({ours, theirs}), kLeaseOfAll);
  CheckFences(ours);
  std::int64_t longest = 0;
  for (const Hold& hold : theirs) longest = std::max(longest, hold.waited_ms);
  // Two seconds and a half on a machine of its own. HandOverLimitTest has the rule without a clock.
  std::cout << "[figures] holds: " << ours.size() << " / " << theirs.size() << ", the longest wait "
            << longest << " ms\n";
}

/// Threads that lock without a pause, each for a moment: most of the time goes by between holds.
TEST_P(Beside, BusyThreadsLeaveTurns) {
  constexpr std::int64_t kTurn = 1'000'000'000;
  test::Child busy = Start("contend", 4, 1ms, 0ms);
  int holds = 0;
  std::vector<std::int64_t> turns;  // after how long since the one before
  std::int64_t last = 0, began = 0;
  while (turns.size() < 2) {
    const auto line = busy.Line();
    ASSERT_TRUE(line);
    if (line->starts_with("releasing")) {
      last = std::stoll(line->substr(line->find(' ')));
      continue;
    }
    ++holds;
    const std::int64_t got = std::stoll(line->substr(line->rfind(' ', line->rfind(' ') - 1)));
    if (began == 0) began = got;
    if (last == 0 || got - last < kTurn) continue;
    turns.push_back(last - began);
    began = got;
  }
  busy.Kill();
  std::cout << "[figures] holds: " << holds << ", turns after";
  for (const std::int64_t turn : turns) std::cout << " " << turn / 1'000'000;
  std::cout << " ms\n";
}

TEST_P(Beside, TheLockOfAKilledProcessIsTakenOver) {
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
    CheckExclusion(Join({before, after}), kLeaseOfAll);
    std::cout << "[figures] " << heir << " had it " << (after[0].from - before[0].sent) / 1'000'000
              << " ms after the grant, of a lease of " << kLeaseOfAll.count() << "\n";
    database_.Run(mongodb::Doc::Of("drop", "locks"));
    Prepare(GetParam(), SetUri(), database_.name());
  }
}

/// A process that was stopped past its lease writes nothing afterwards.
TEST_P(Beside, AStoppedProcessHasLostIt) {
  test::Child stopped = Start("contend", 1, 1000ms, 1h);
  ASSERT_TRUE(stopped.Line());
  stopped.Signal(SIGSTOP);
  test::Child peer = Start("peer", 1, 1s, 0ms);
  ASSERT_TRUE(peer.Line());
  stopped.Signal(SIGCONT);
  const auto told = stopped.Line();
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->starts_with("lost")) << *told;
  // It releases what it has, and takes it again: nobody else had it meanwhile.
  for (int i = 0; i < 3; ++i) {
    const auto next = peer.Line();
    ASSERT_TRUE(next && (next->starts_with("got") || next->starts_with("releasing")));
  }
}

/// What it writes when it goes on leaves the next holder's lock alone.
TEST_P(Beside, AStoppedPeersLockIsTakenOver) {
  test::Child peer = Start("peer", 1, 1000ms, 1h);
  ASSERT_TRUE(peer.Line());
  peer.Signal(SIGSTOP);
  test::Child heir = Start("contend", 1, 3000ms, 1h);
  const auto got = heir.Line();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->starts_with("got")) << *got;
  peer.Signal(SIGCONT);
  ASSERT_TRUE(peer.Line());  // it releases what it has no more
  const auto next = heir.Line();
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->starts_with("releasing")) << *next;
}

/// Of both sides, at most so many at once. Writers of both come between.
TEST_P(Beside, SharesOfBothKeepTheLimit) {
  const bool has_shares = GetParam().starts_with("mongolock") && !HasDocuments(GetParam());
  if (!has_shares) GTEST_SKIP() << "it has no shares";
  constexpr int kLimit = 3;
  std::vector<test::Child> children;
  for (const char* const kind : {"contend", "contend", "peer", "peer"}) {
    children.push_back(Start(kind, 1, 20ms, 20ms, kLimit));
  }
  for (const char* const kind : {"contend", "peer"}) children.push_back(Start(kind, 1, 5ms, 50ms));
  std::this_thread::sleep_for(10s);
  std::vector<std::vector<Hold>> holds;
  for (test::Child& child : children) child.Signal(SIGKILL);
  for (test::Child& child : children) holds.push_back(HoldsIn(child.Rest(), "a process"));
  const std::vector<Hold> shared = Join({holds[0], holds[1], holds[2], holds[3]});
  for (int i = 0; i < 4; ++i) EXPECT_GT(holds[static_cast<std::size_t>(i)].size(), 1U);
  EXPECT_GT(MostAtOnce(shared), 1);
  EXPECT_LE(MostAtOnce(shared), kLimit);
  for (const Hold& writer : Join({holds[4], holds[5]})) {
    for (const Hold& reader : shared) CheckExclusion({writer, reader}, kLeaseOfAll);
  }
  CheckExclusion(Join({holds[4], holds[5]}), kLeaseOfAll);
  std::cout << "[figures] shares: " << shared.size() << ", writers: " << holds[4].size() << " / "
            << holds[5].size() << "\n";
}

}  // namespace
}  // namespace doclock::mongo_test
