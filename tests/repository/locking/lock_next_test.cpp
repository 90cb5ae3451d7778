#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "repository/support/harness.h"

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

class LockNextThreadsTest : public ThreadsTest {};
DOCLOCK_FOR_ALL_STORES(LockNextThreadsTest);

/// A document that a worker was granted, and the moments before and after, by one common counter.
struct Claim {
  std::size_t before = 0, after = 0;
  int due = 0;
};

/// A claim that began when another one had ended is of a later document.
void ExpectInOrder(const std::vector<Claim>& claims, std::size_t moments) {
  std::vector<const Claim*> begins(moments), ends(moments);
  for (const Claim& claim : claims) {
    begins[claim.before] = &claim;
    ends[claim.after] = &claim;
  }
  int latest = -1;
  for (std::size_t moment = 0; moment < moments; ++moment) {
    if (begins[moment] != nullptr) {
      EXPECT_GT(begins[moment]->due, latest);
    }
    if (ends[moment] != nullptr) latest = std::max(latest, ends[moment]->due);
  }
}

TEST_P(LockNextThreadsTest, SixteenThreadsClaimEachOfManyDocumentsOnceAndInOrder) {
  constexpr int kThreads = 16, kCount = 1'000;
  const auto counted = std::make_shared<FaultyStore>(store);
  const LockingRepository<Job> jobs(LockManager(counted), "jobs");
  jobs.EnsureIndex({"status", "due"});
  std::vector<std::future<std::int64_t>> inserts;
  for (int i = 0; i < kCount; ++i) {
    inserts.push_back(
        jobs.InsertAsync(Job{"job" + std::to_string(i), "queued", (i * 7919) % kCount}));
  }
  for (auto& insert : inserts) insert.get();
  std::atomic<std::size_t> moments = 0;
  std::vector<std::vector<Claim>> claimed(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : claimed) {
    threads.emplace_back([&jobs, &mine, &moments] {
      for (;;) {
        const std::size_t before = moments++;
        auto job = jobs.TryLockNext(DueBy(kCount));
        const std::size_t after = moments++;
        if (!job) return;
        mine.push_back({before, after, (*job)->due});
        (*job)->status = "done";
        job->Release();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<Claim> all;
  for (const auto& mine : claimed) all.insert(all.end(), mine.begin(), mine.end());
  std::set<int> dues;
  for (const Claim& claim : all) EXPECT_TRUE(dues.insert(claim.due).second) << claim.due;
  EXPECT_EQ(dues.size(), static_cast<std::size_t>(kCount));
  ExpectInOrder(all, moments);
  EXPECT_EQ(counted->Count(OpKind::kAcquire), kCount + kThreads) << "no claim is tried twice";
}

}  // namespace
}  // namespace doclock
