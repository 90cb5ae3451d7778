#include <gtest/gtest.h>

#include <string>

#include "doclock/stores/sqlite.h"
#include "doclock/worker.h"
#include "messaging/charge.h"
#include "process/child.h"
#include "process/temp_folder.h"

namespace doclock {
namespace {

TEST(KilledWorker, ItsStepLeavesNothingAndCountsAsAnInterruption) {
  const test::TempFolder folder;
  const LockManager manager(OpenSqliteStore(folder / "charges.db"));
  const LockingRepository<test::Charge> charges(manager, "charges");
  charges.Insert(test::Charge{"c"});
  test::Child killed({(folder / "charges.db").string(), "work"});
  ASSERT_EQ(killed.Line(), "c");
  killed.Kill();
  int interruptions = 0;
  Worker<test::Charge> worker(charges, &test::Charge::attempts, Filter(),
                              [&](test::Charge& charge) {
                                interruptions = charge.attempts.interruptions;
                                ++charge.steps;
                                return Next::Done();
                              },
                              {.threads = 0});
  EXPECT_EQ(worker.RunOne(std::chrono::minutes(5)), StepOutcome::kStored);
  EXPECT_EQ(interruptions, 1);
  EXPECT_EQ(charges.Find("c").value()->steps, 1);
  EXPECT_EQ(charges.Find("c").value()->attempts.failures, 0);
}

}  // namespace
}  // namespace doclock
