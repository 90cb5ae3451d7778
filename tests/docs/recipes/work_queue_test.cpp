// The recipe for a work queue (docs/how-to/work-queue.md).

#include <gtest/gtest.h>

#include "docs_how_to_work_queue_jobs.cpp"
#include "repository/support/stores.h"

namespace {

class WorkQueueRecipe : public ::testing::TestWithParam<doclock::StoreKind> {
 protected:
  WorkQueueRecipe() {
    for (const char* id : {"bad", "good"}) jobs.Insert(Job{id, "queued", id[0] == 'b' ? 1 : 2});
  }
  [[nodiscard]] std::string StatusOf(const char* id) const { return jobs.Find(id).value()->status; }

  doclock::LockManager manager{GetParam().open(nullptr)};
  Jobs jobs{manager, "jobs"};
};

void FailsOnBad(const Job& job) {
  if (job.id == "bad") throw std::runtime_error("a bad job");
}

TEST_P(WorkQueueRecipe, AJobThatFailsLetsTheOthersGoFirst) {
  EXPECT_TRUE(WorkOne(jobs, FailsOnBad, 1000));
  EXPECT_TRUE(WorkOne(jobs, FailsOnBad, 1000));
  EXPECT_EQ(StatusOf("good"), "done");
  EXPECT_EQ(StatusOf("bad"), "queued");
  EXPECT_FALSE(WorkOne(jobs, FailsOnBad, 1001));
  EXPECT_TRUE(WorkOne(
      jobs, [](const Job&) {}, 1002));
  EXPECT_EQ(StatusOf("bad"), "done");
}

TEST_P(WorkQueueRecipe, AJobThatKillsItsWorkerIsDelayedAndCountedToo) {
  struct Dead {};
  const auto dies = [](const Job& job) {
    if (job.id == "bad") throw Dead();
  };
  EXPECT_THROW(WorkOne(jobs, dies, 1000), Dead);
  EXPECT_TRUE(WorkOne(jobs, dies, 1000));
  EXPECT_EQ(StatusOf("good"), "done");
  for (int deaths = 1; deaths < kMostAttempts;) {
    EXPECT_EQ(StatusOf("bad"), "queued");
    try {
      WorkOne(jobs, dies,
              jobs.Find("bad").value()->due);  // false while the dead one's lock is held
    } catch (const Dead&) {
      ++deaths;
    }
  }
  EXPECT_EQ(StatusOf("bad"), "failed");
}

DOCLOCK_FOR_ALL_STORES(WorkQueueRecipe);

}  // namespace
