#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "repository/harness.h"

namespace doclock {
namespace {

struct Job {
  std::string id = {};
  std::string status = "queued";
  int due = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Job, id, status, due)

Filter DueBy(int now) {
  return Filter{}.Equal("status", "queued").AtMost("due", now).OrderBy("due");
}

class LockNextTest : public RepositoryTest {
 protected:
  LockingRepository<Job> jobs{manager, "jobs"};
};
DOCLOCK_FOR_ALL_STORES(LockNextTest);

TEST_P(LockNextTest, TakesTheFirstFreeDocumentThatMatches) {
  jobs.Insert(Job{"late", "queued", 9});
  jobs.Insert(Job{"second", "queued", 2});
  jobs.Insert(Job{"first", "queued", 1});
  jobs.Insert(Job{"done", "done", 0});
  auto first = jobs.LockNext(DueBy(5));
  auto second = jobs.LockNext(DueBy(5));
  EXPECT_EQ(first.key(), Key("first"));
  EXPECT_EQ(first->id, "first");
  EXPECT_EQ(second->id, "second");
  EXPECT_THROW((void)jobs.LockNext(DueBy(5)), NotFoundException);
  EXPECT_FALSE(jobs.TryLockNext(DueBy(5)));
  EXPECT_FALSE(Get(jobs.TryLockNextAsync(DueBy(5))));
  first.Discard();
  EXPECT_EQ(Get(jobs.LockNextAsync(DueBy(5)))->id, "first");
}

TEST_P(LockNextTest, NothingInTimeIsNotFound) {
  EXPECT_THROW((void)jobs.LockNext(DueBy(5), {.wait = 3s}), NotFoundException);
  EXPECT_FALSE(jobs.TryLockNext(DueBy(5), {.wait = 3s}));
  EXPECT_THROW((void)Get(jobs.LockNextAsync(DueBy(5), {.wait = 3s})), NotFoundException);
}

TEST_P(LockNextTest, WaitsUntilOneIsFree) {
  jobs.Insert(Job{"a"});
  auto first = jobs.LockNext(DueBy(5));
  auto next = jobs.LockNextAsync(DueBy(5), {.wait = kForever});
  clock->Advance(10s);
  EXPECT_EQ(next.wait_for(0s), std::future_status::timeout);
  first.Discard();
  clock->Advance(2s);
  EXPECT_EQ(next.get()->id, "a");
}

class LockNextThreadsTest : public ThreadsTest {};
DOCLOCK_FOR_ALL_STORES(LockNextThreadsTest);

TEST_P(LockNextThreadsTest, SixteenThreadsClaimEachOfManyDocumentsOnceAndInOrder) {
  constexpr int kThreads = 16;
  const int count = GetParam().name == "Memory" ? 10'000 : 1'000;
  const LockingRepository<Job> jobs(manager, "jobs");
  jobs.EnsureIndex({"status", "due"});
  for (int i = 0; i < count; ++i) {
    jobs.Insert(Job{"job" + std::to_string(i), "queued", (i * 7919) % count});
  }
  std::vector<std::vector<int>> claimed(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : claimed) {
    threads.emplace_back([&jobs, &mine, count] {
      while (auto job = jobs.TryLockNext(DueBy(count))) {
        mine.push_back((*job)->due);
        (*job)->status = "done";
        job->Release();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<int> all;
  for (const auto& mine : claimed) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    for (const int due : mine) EXPECT_TRUE(all.insert(due).second) << due;
  }
  EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
}

}  // namespace
}  // namespace doclock
