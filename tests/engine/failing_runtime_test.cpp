/// The state that is left behind if no task can be started because memory ran out.

#include "failing_runtime.h"

#include <chrono>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/batcher.h"
#include "engine/runtime/limited_work.h"
#include "harness.h"

namespace doclock::detail {
namespace {

class FailingRuntimeTest : public EngineTest {
 protected:
  void FailToWork() {
    failing->on_work = [](const Runtime::Task&) { throw std::bad_alloc(); };
  }
  Grant LockThere(const Key& key, LockOptions options) {
    AcquireResult result = Acquire(there.engine(), Spec(key, options), {});
    EXPECT_FALSE(result.failure);
    return std::move(result.grant);
  }

  std::shared_ptr<FailingRuntime> failing = std::make_shared<FailingRuntime>(runtime);
  LockManager there{store, {.drain_timeout = 1min, .runtime = failing}};
};

TEST_F(FailingRuntimeTest, ALockThatCouldNotBeRenewedIsHeldAsBefore) {
  Grant held = LockThere("a", {.ttl = 30s});
  FailToWork();
  EXPECT_THROW(RenewAsync(held.lease, 1min, [](const FailurePtr&) {}), std::bad_alloc);
  EXPECT_THROW(DetachAsync(held.lease, [](const FailurePtr&) {}), std::bad_alloc);
  failing->on_work = nullptr;
  EXPECT_FALSE(Write(held.lease, WriteKind::kRelease, Body()));
}

TEST_F(FailingRuntimeTest, ClosingDoesNotWaitForWhatNeverBegan) {
  const Grant held = LockThere("a", {.ttl = 30s});
  FailToWork();
  EXPECT_THROW(ReadAsync(there.engine(), *collection, "a", [](const ReadResult&) {}),
               std::bad_alloc);
  EXPECT_THROW(RenewAsync(held.lease, 1min, [](const FailurePtr&) {}), std::bad_alloc);
  failing->on_work = nullptr;
  const TimePoint before = clock->Now();
  there.Close();
  EXPECT_LT(clock->Now() - before, 1min);
}

TEST_F(FailingRuntimeTest, ATaskThatCouldNotBeScheduledIsTheCallersAgain) {
  failing->on_schedule = []() -> Runtime::TimerId { throw std::bad_alloc(); };
  int runs = 0;
  EXPECT_THROW(there.engine()->After(1s, [&] { ++runs; }), std::bad_alloc);
  failing->on_schedule = nullptr;
  there.Close();
  EXPECT_EQ(runs, 0);
}

TEST_F(FailingRuntimeTest, WorkThatThrowsOnTheCallersThreadLeavesItsPlaceToOthers) {
  failing->on_work = [](const Runtime::Task& task) { task(); };
  const auto work = std::make_shared<LimitedWork>(*failing, 1);
  work->Run([] { throw std::runtime_error("from a task"); });
  int runs = 0;
  work->Run([&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST_F(FailingRuntimeTest, WorkThatCouldNotBeStartedAndThrowsLeavesItsPlaceToOthers) {
  FailToWork();
  const auto work = std::make_shared<LimitedWork>(*failing, 1);
  work->Run([] { throw std::runtime_error("from a task"); });
  std::vector<Runtime::Task> started;
  failing->on_work = [&](Runtime::Task task) { started.push_back(std::move(task)); };
  int runs = 0;
  for (int i = 0; i < 3; ++i) work->Run([&] { ++runs; });
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(started.size(), i + 1) << "one at a time";
    started[i]();
  }
  EXPECT_EQ(runs, 3);
  failing->on_work = nullptr;
}

TEST_F(FailingRuntimeTest, RenewalsThatCouldNotBeSentAreSentLater) {
  store->lanes = 1;  // one round at once
  const Grant held = LockThere("a", {.ttl = 30s});
  FailToWork();
  clock->Advance(15s);
  EXPECT_EQ(store->Count(OpKind::kRenew), 0);
  failing->on_work = nullptr;
  clock->Advance(1min);
  EXPECT_GT(store->Count(OpKind::kRenew), 2);
  EXPECT_TRUE(LeaseHeld(*held.lease));
}

TEST_F(FailingRuntimeTest, WhatQueuedBehindALeaderThatCouldNotStartIsExecuted) {
  store->lanes = 1;
  const auto batcher = std::make_shared<Batcher>(store, *failing, 10s);
  const Key a("a"), b("b");
  ReadOp first(*collection, a), second(*collection, b);
  int answers = 0;
  failing->on_work = [&](const Runtime::Task&) {
    if (second.status == OpStatus::kPending && answers == 0) {
      answers = 10;
      batcher->Submit(second, [&] { ++answers; });
    }
    throw std::bad_alloc();
  };
  EXPECT_THROW(batcher->Submit(first, [&] { answers = -1; }), std::bad_alloc);
  EXPECT_EQ(answers, 11);
  EXPECT_EQ(second.status, OpStatus::kMissing);
  EXPECT_EQ(first.status, OpStatus::kPending);
  failing->on_work = nullptr;
  batcher->Submit(first, [&] { ++answers; });
  clock->RunPending();
  EXPECT_EQ(answers, 12);
}

}  // namespace
}  // namespace doclock::detail
