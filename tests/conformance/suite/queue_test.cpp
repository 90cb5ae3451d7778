#include <map>
#include <mutex>
#include <optional>

#include "store_conformance.h"

// What a script cannot play of the queue of waiters (see scripts/queue.script).

namespace doclock::conformance {
namespace {

class WaitingQueue : public StoreConformance {
 protected:
  void SetUp() override {
    if (!store().traits().queues) GTEST_SKIP() << "this store keeps no queue";
  }
  void ExpectAHintFor(Client& waiting);
};

void WaitingQueue::ExpectAHintFor(Client& waiting) {
  std::mutex mutex;
  std::map<std::size_t, std::optional<GrantSeen>> told;  // by the hash of the key
  const auto subscription = waiting.store().Watch(waiting.collection(), [&](const LockHint& hint) {
    const std::lock_guard guard(mutex);
    if (hint.hash) told[*hint.hash] = hint.grant;
  });
  if (!subscription) GTEST_SKIP() << "this store gives no hints";
  // A store may begin to listen some time after it was asked to.
  for (int i = 0; i < 60; ++i) {
    const Key key = FreshId();
    const AcquireOp grant = things_.Create(key);
    const Uuid waiter = FreshId();
    ASSERT_TRUE(waiting.Acquire(key, {.id = waiter, .queue_for = 20s}).result.queued);
    const WriteOp release = things_.Release(key, grant, MakeBody({{"n", 2}}));
    const auto is_told = [&] {
      const std::lock_guard guard(mutex);
      return told.count(key.Hash()) == 1;
    };
    if (!IsSoon(is_told)) continue;
    const std::lock_guard guard(mutex);
    const std::optional<GrantSeen>& seen = told[key.Hash()];
    if (!seen || seen->lock_id.is_nil()) return;  // it does not say to whom
    EXPECT_EQ(seen->lock_id, waiter);
    EXPECT_EQ(seen->version, release.result.version);
    EXPECT_EQ(seen->born, grant.result.born);
    if (!seen->body) return;
    EXPECT_EQ(seen->body.json(), Json({{"n", 2}}));
    return;
  }
  FAIL() << "no hint is heard";
}

TEST_P(WaitingQueue, AGrantGivesAHint) { ExpectAHintFor(things_); }

class QueueOfTwoStores : public OnTwoStores<WaitingQueue> {};

TEST_P(QueueOfTwoStores, AGrantGivesAHint) { ExpectAHintFor(*others_); }

INSTANTIATE_TEST_SUITE_P(Stores, WaitingQueue, ::testing::ValuesIn(AllStores()), NameOf);
INSTANTIATE_TEST_SUITE_P(Stores, QueueOfTwoStores, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
