// Several managers and processes over one file lose nothing of each other's work.

#include <atomic>
#include <list>
#include <nlohmann/json.hpp>
#include <thread>

#include "sqlite/support/count.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"

namespace doclock::sqlite_test {
namespace {

class SqliteSharedFile : public SqliteTest {
 protected:
  void SetUp() override {
    for (const char* how : kWays) one_.Insert(how, {{"count", 0}});
  }
  int CountOf(const std::string& key) { return (*one_.Find(key).value())["count"].get<int>(); }

  static constexpr const char* kWays[] = {"lock", "save", "mixed"};
  Counters one_ = OpenCounters(file_);
};

TEST_F(SqliteSharedFile, ThreadsOfTwoManagersLoseNoIncrement) {
  constexpr int kThreads = 4;
  const int times = Rounds(100);
  const Counters two = OpenCounters(file_);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (const char* how : kWays) CountUp(t % 2 == 0 ? one_ : two, how, times, how);
    });
  }
  threads.clear();
  for (const char* how : kWays) EXPECT_EQ(CountOf(how), kThreads * times) << how;
}

TEST_F(SqliteSharedFile, ProcessesLoseNoIncrement) {
  constexpr int kProcesses = 3;
  const int times = Rounds(100);
  for (const char* how : kWays) {
    std::list<Child> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.emplace_back(
          std::vector<std::string>{"count", file_.string(), how, std::to_string(times), how});
    }
    for (Child& child : children) ASSERT_EQ(child.Line(), "ready");
    for (Child& child : children) child.Say("go");
    for (Child& child : children) EXPECT_EQ(child.Line(), "counted");
    EXPECT_EQ(CountOf(how), kProcesses * times) << how;
  }
}

/// A round is a grant, a save and a release, one version each, and only its release counts.
TEST_F(SqliteSharedFile, AReaderOfAnotherStoreNeverSeesHalfARelease) {
  const Counters two = OpenCounters(file_);
  const std::int64_t base = one_.Find("lock")->version();
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    for (int i = 0; i < Rounds(300); ++i) {
      auto counter = one_.Lock("lock", {.wait = 1min});
      (*counter)["saved"] = i;
      counter.Save();
      Increment(*counter);
      counter.Release();
    }
    stop = true;
  });
  while (!stop) {
    const auto seen = two.Find("lock").value();
    const std::int64_t writes = seen.version() - base;
    EXPECT_EQ(seen.locked(), writes % 3 != 0) << writes;
    EXPECT_EQ((*seen)["count"].get<int>(), writes / 3) << writes;
    EXPECT_EQ(seen->value("saved", -1), (writes + 1) / 3 - 1) << writes;
  }
}

}  // namespace
}  // namespace doclock::sqlite_test
