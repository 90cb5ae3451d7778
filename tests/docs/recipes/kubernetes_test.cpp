// The probes of docs/how-to/kubernetes.md.

#include <gtest/gtest.h>

#include <climits>
#include <semaphore>

#include "doclock/testing/faulty_store.h"
#include "docs_how_to_kubernetes_probes.cpp"
#include "repository/support/stores.h"

namespace {

class ProbesRecipe : public ::testing::TestWithParam<doclock::StoreKind> {
 protected:
  std::shared_ptr<doclock::testing::FaultyStore> store =
      std::make_shared<doclock::testing::FaultyStore>(GetParam().open(nullptr));
  doclock::LockManager manager{store};
  Sagas sagas{manager, "sagas"};
};
DOCLOCK_FOR_ALL_STORES(ProbesRecipe);

TEST_P(ProbesRecipe, ThePodIsReadyWhileTheStoreAnswers) {
  EXPECT_TRUE(StoreAnswers(sagas));
  store->Inject({.times = INT_MAX});
  EXPECT_FALSE(StoreAnswers(sagas));
  store->Heal();
  EXPECT_TRUE(StoreAnswers(sagas));
}

TEST_P(ProbesRecipe, AStoreThatHangsIsNotWaitedFor) {
  if (store->traits().immediate) GTEST_SKIP() << "it answers on the caller's thread";
  std::binary_semaphore goes_on(0);
  store->OnExecute([&](auto) { goes_on.acquire(); });
  EXPECT_FALSE(StoreAnswers(sagas, 1ms));
  goes_on.release();
  manager.Close();  // waits for the call
}

TEST(Heartbeat, BeatsUntilTheLimitIsOver) {
  Heartbeat heartbeat;
  heartbeat.Beat();
  EXPECT_TRUE(heartbeat.Beats(1h));
  EXPECT_FALSE(heartbeat.Beats(0ns));
}

}  // namespace
