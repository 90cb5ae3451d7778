#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "store_conformance.h"

// What a script cannot play of the queue of waiters (see scripts/queue.script).

namespace doclock::conformance {
namespace {

class WaitingQueue : public StoreConformance {
 protected:
  void SetUp() override {
    if (!store().traits().queues) GTEST_SKIP() << "this store keeps no queue";
  }
};

TEST_P(WaitingQueue, AGrantFromTheQueueGivesAHint) {
  const AcquireOp grant = things_.Create("42");
  const Uuid waiter = FreshId();
  ASSERT_TRUE(things_.Acquire("42", {.id = waiter, .queue_for = 20s}).queued);
  std::atomic<bool> told = false;
  std::mutex mutex;
  std::optional<GrantSeen> seen;
  const auto subscription = store().Watch(things_.collection(), [&](const LockHint& hint) {
    if (hint.hash && *hint.hash != Key("42").Hash()) return;
    const std::lock_guard guard(mutex);
    if (hint.grant) seen = hint.grant;
    told = true;
  });
  if (!subscription) GTEST_SKIP() << "this store gives no hints";
  const WriteOp release = things_.Release("42", grant, MakeBody({{"n", 2}}));
  for (int i = 0; i < 30'000 && !told; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(told);
  const std::lock_guard guard(mutex);
  if (!seen || !seen->body) return;
  EXPECT_EQ(seen->lock_id, waiter);
  EXPECT_EQ(seen->version, release.version);
  EXPECT_EQ(seen->born, grant.born);
  EXPECT_EQ(seen->body.json(), Json({{"n", 2}}));
}

INSTANTIATE_TEST_SUITE_P(Stores, WaitingQueue, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
