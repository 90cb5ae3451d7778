// The outcome of a wait that ends while the attempt under way has no answer.

#include <thread>

#include "engine/support/hanging_store.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

using OutageTest = EngineTest;

TEST_F(OutageTest, AStoreThatDoesNotAnswerAnyMoreIsNotTakenForALock) {
  Grant held = Lock("a");
  auto waiting = LockLater("a", {.wait = 10s});
  clock->Advance(5s);
  clock->DelayWork(1min);
  clock->Advance(5s);
  EXPECT_EQ(waiting->code(), Errc::kUnavailable);
  EXPECT_NE(waiting->result->failure->message.find("gave no answer"), std::string::npos);
  clock->Advance(2min);  // what was delayed comes to its end
}

TEST_F(OutageTest, AnAttemptThatHasJustBegunSaysNothingOfTheStore) {
  Grant held = Lock("a");
  auto waiting = LockLater("a", {.wait = 10s});
  clock->Advance(9s);
  clock->DelayWork(1min);
  clock->Advance(1s);
  EXPECT_EQ(waiting->code(), Errc::kTimedOut);
  clock->Advance(2min);  // what was delayed comes to its end
}

TEST_F(OutageTest, AWaitBehindALocalHolderIsNoOutage) {
  auto first = LockLater("a", {.wait = 10s});
  ASSERT_TRUE(first->granted());
  auto second = LockLater("a", {.wait = kForever});
  auto third = LockLater("a", {.wait = 5s});
  ASSERT_FALSE(ReleaseWith(first->result->grant, {{"n", 1}}));
  ASSERT_TRUE(second->granted());
  clock->Advance(5s);
  EXPECT_EQ(third->code(), Errc::kTimedOut);
}

/// Another thread costs time, and is there for those whose time may be over before the answer.
TEST(OutageThreads, AWaitThatOutlastsTheStoresCallsAsksOnTheCallersThread) {
  const auto store = std::make_shared<HangingStore>();
  const LockManager manager{store, {.call_budget = 10s}};
  const auto collection = store->Open("orders", {}, 30s);
  std::vector<AcquireResult> results;  // a release would have the lane
  std::thread::id asked_by;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind == OpKind::kAcquire) asked_by = std::this_thread::get_id();
  });
  for (const auto& [wait, here] : {std::pair{29s, false}, std::pair{30s, true}}) {
    AcquireSpec spec = MakeSpec(manager.engine(), *collection, {.wait = wait}, 30s);
    spec.key = wait.count();
    spec.insert = Body::FromJson({{"n", 0}});
    results.push_back(Acquire(manager.engine(), std::move(spec), {}));
    EXPECT_FALSE(results.back().failure);
    EXPECT_EQ(asked_by == std::this_thread::get_id(), here) << wait.count();
  }
}

}  // namespace
}  // namespace doclock::detail
