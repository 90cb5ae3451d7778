// The recipe for a work queue (docs/how-to/work-queue.md).

#include <gtest/gtest.h>

#include "doclock/testing/manual_clock.h"
#include "docs_how_to_work_queue_jobs.cpp"
#include "repository/support/stores.h"

namespace {

using doclock::StepOutcome;

class WorkQueueRecipe : public ::testing::TestWithParam<doclock::StoreKind> {
 protected:
  WorkQueueRecipe() {
    for (const char* id : {"bad", "good"}) jobs.Insert(Job{id});
  }

  std::shared_ptr<doclock::testing::ManualClock> clock =
      std::make_shared<doclock::testing::ManualClock>();
  doclock::LockManager manager{GetParam().open(clock), {.runtime = clock->runtime()}};
  doclock::LockingRepository<Job> jobs{manager, "jobs"};
};

TEST_P(WorkQueueRecipe, AJobThatFailsLetsTheOthersGoFirst) {
  bool fails = true;
  auto worker = Work(jobs,
                     [&](const Job& job) {
                       if (fails && job.id == "bad") throw std::runtime_error("a bad job");
                     },
                     {.threads = 0});
  EXPECT_EQ(worker.RunOne(), StepOutcome::kFailed);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kStored);
  EXPECT_EQ(worker.RunOne(), StepOutcome::kNone);
  EXPECT_FALSE(jobs.Find("good"));
  EXPECT_EQ(jobs.Find("bad").value()->attempts.error, "a bad job");
  fails = false;
  EXPECT_EQ(worker.RunOne(1min), StepOutcome::kStored);
  EXPECT_FALSE(jobs.Find("bad"));
}

DOCLOCK_FOR_ALL_STORES(WorkQueueRecipe);

}  // namespace
