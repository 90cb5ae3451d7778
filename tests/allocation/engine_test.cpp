/// Parts of the engine where several allocations have to fail at once, or at a moment that no verb
/// reaches with one thread.

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "allocation/failing_new.h"
#include "allocation/watching_runtime.h"
#include "doclock/lock_manager.h"
#include "doclock/memory_store.h"
#include "doclock/testing/manual_clock.h"
#include "engine/calls/batcher.h"
#include "engine/engine.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

using allocation_test::CodeUnderTest;
using allocation_test::FailingNew;

class EngineAllocationTest : public EngineTest {};

TEST_F(EngineAllocationTest, AnOperationThatTheStoreDidNotAnswerIsInDoubtEvenWithoutAText) {
  const auto batcher = std::make_shared<Batcher>(store, *runtime, 10s);
  const Key key("a");
  RenewOp renew(*collection, key);
  ReadOp read(*collection, key);
  for (StoreOp* op : {static_cast<StoreOp*>(&renew), static_cast<StoreOp*>(&read)}) {
    store->Inject({.kind = Fault::Kind::kThrow});
    FailingNew::FailAt(1, 1'000'000);
    {
      const CodeUnderTest code;
      batcher->Execute(*op);
    }
    FailingNew::Disarm();
    EXPECT_FALSE(op->detail);
  }
  EXPECT_EQ(renew.status, OpStatus::kInDoubt);
  EXPECT_EQ(read.status, OpStatus::kFailed);
}

TEST_F(EngineAllocationTest, ACallerThatCouldNotQueueLeavesTheHintsToOthers) {
  const Grant held = Lock("a", {.ttl = 1h});
  const auto waiting = LockLater("a", {.wait = kForever});
  ASSERT_TRUE(engine()->waits().hints().Heard(*collection));
  bool more = true;
  for (int n = 1; more; ++n) {
    const auto asked = std::make_shared<PendingAcquire>(
        engine()->shared_waits(), Spec("b"), PendingAcquire::Target::kDocument,
        [](const AcquireResult&) {}, clock->Now());
    FailingNew::FailAt(n);
    try {
      const CodeUnderTest code;
      engine()->waits().Enqueue(asked, nullptr);
    } catch (const std::bad_alloc&) {
      // It has not queued.
    }
    more = FailingNew::failed();
    FailingNew::Disarm();
    clock->Advance(5s);
    EXPECT_TRUE(engine()->waits().hints().Heard(*collection)) << "allocation " << n;
  }
}

TEST_F(EngineAllocationTest, ASubscriptionThatCouldNotBeEndedEndsAfterTheNextWaiter) {
  const auto watching = std::make_shared<allocation_test::WatchingRuntime>(runtime);
  const LockManager there{store, {.runtime = watching}};
  const Grant held = Lock("a", {.ttl = 1h});
  Hints& hints = there.engine()->waits().hints();
  const auto wait = [&] {
    const AcquireHandle waiting =
        AcquireAsync(there.engine(), Spec("a", {.wait = kForever}), [](const AcquireResult&) {});
    clock->RunPending();
    EXPECT_TRUE(hints.Heard(*collection));
    CancelAcquire(waiting);
    clock->RunPending();
  };
  wait();
  FailingNew::FailAt(1, 1'000'000);
  clock->Advance(2s);
  EXPECT_TRUE(FailingNew::failed());
  FailingNew::Disarm();
  EXPECT_TRUE(hints.Heard(*collection));
  wait();
  clock->Advance(2s);
  EXPECT_FALSE(hints.Heard(*collection));
  EXPECT_EQ(watching->escaped(), 0);
}

}  // namespace
}  // namespace doclock::detail
