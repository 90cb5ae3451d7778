// A collection that is shared with a re-created DistributedLock.MongoDB, while the primary is
// killed again and again.

#include <gtest/gtest.h>
#include <signal.h>

#include <iostream>
#include <thread>

#include "mongodb/layouts/history.h"
#include "mongodb/support/raw_server.h"
#include "mongodb/support/replica_set.h"
#include "process/child.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;

TEST(LayoutFailover, BothSidesExcludeEachOtherWhilePrimariesAreKilled) {
  const ReplicaSet set;
  Database database(set.uri());
  std::vector<test::Child> children;
  for (const char* const kind : {"contend", "contend", "peer", "peer"}) {
    children.emplace_back(
        std::vector<std::string>{kind, set.uri(), database.name(), "job", "1", "3000", "5", "20"});
  }
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(3s);
    const int primary = set.Primary();
    set.Kill(primary);
    static_cast<void>(set.PrimaryOtherThan(primary));
    set.Revive(primary);
  }
  std::this_thread::sleep_for(8s);
  std::vector<std::vector<Hold>> holds;
  for (const test::Child& child : children) child.Signal(SIGKILL);
  for (test::Child& child : children) holds.push_back(HoldsIn(child.Rest(), "a process"));
  for (const auto& one : holds) EXPECT_GT(one.size(), 1U) << "it got nowhere";
  CheckExclusion(Join(holds), 3s);
  CheckFences(Join({holds[0], holds[1]}));
  std::cout << "holds: " << holds[0].size() << ", " << holds[1].size() << " / " << holds[2].size()
            << ", " << holds[3].size() << "\n";
  set.Heal();
}

}  // namespace
}  // namespace doclock::mongo_test
