// A collection that is shared with another library, while the primary is killed again and again.

#include <gtest/gtest.h>
#include <signal.h>

#include <iostream>
#include <thread>

#include "mongodb/layouts/contender.h"
#include "mongodb/layouts/history.h"
#include "mongodb/support/raw_server.h"
#include "mongodb/support/replica_set.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;

class LayoutFailover : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, LayoutFailover, ::testing::ValuesIn(kTheirs), NameOfTheirs);

TEST_P(LayoutFailover, BothSidesExcludeEachOtherWhilePrimariesAreKilled) {
  if (!IsThere(GetParam())) GTEST_SKIP() << RealMongoLock::kMissing;
  const ReplicaSet set;
  Database database(set.uri());
  Prepare(GetParam(), set.uri(), database.name());
  std::vector<test::Child> children;
  for (const char* const kind : {"contend", "contend", "peer", "peer"}) {
    children.push_back(Contender(kind, GetParam(), set.uri(), database.name(), 1, 3s, 5ms, 20ms));
  }
  std::vector<std::vector<std::string>> lines;
  for (test::Child& child : children) lines.push_back(NextHolds(child, 2));
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(3s);
    const int primary = set.Primary();
    set.Kill(primary);
    static_cast<void>(set.PrimaryOtherThan(primary));
    set.Revive(primary);
  }
  std::this_thread::sleep_for(8s);
  const auto holds = KilledHolds(children, std::move(lines));
  CheckExclusion(Join(holds), 3s);
  CheckFences(Join({holds[0], holds[1]}));
  std::cout << "[figures] holds: " << holds[0].size() << ", " << holds[1].size() << " / "
            << holds[2].size() << ", " << holds[3].size() << "\n";
  set.Heal();
}

}  // namespace
}  // namespace doclock::mongo_test
