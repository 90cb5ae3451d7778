/// The state that is left behind if no task can be started because memory ran out.

#include "engine/runtime/failing_runtime.h"

#include <chrono>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/calls/batcher.h"
#include "engine/runtime/limited_work.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class FailingRuntimeTest : public EngineTest {
 protected:
  void FailToWork() {
    failing->on_work = [](const Runtime::Task&) { throw std::bad_alloc(); };
  }
  Grant LockThere(const Key& key, LockOptions options) { return LockBy(there, key, options); }

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
  EXPECT_THROW(there.engine()->calls().After(1s, [&] { ++runs; }), std::bad_alloc);
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

TEST_F(FailingRuntimeTest, AWaiterThatNothingCanWakeAnyMoreIsTold) {
  const Grant held = Lock("a", {.ttl = 1h});
  const auto told = LockLaterBy(there, "a", {.wait = kForever});
  EXPECT_FALSE(told->result);
  FailToWork();
  failing->on_schedule = []() -> Runtime::TimerId { throw std::bad_alloc(); };
  clock->Advance(10s);
  failing->on_work = nullptr;
  failing->on_schedule = nullptr;
  EXPECT_TRUE(told->code());
}

TEST_F(FailingRuntimeTest, AWaiterWhoseAttemptCouldNotBeginAsksLater) {
  const Grant held = Lock("a", {.ttl = 1h});
  const auto told = LockLaterBy(there, "a", {.wait = kForever});
  FailToWork();
  clock->Advance(10s);
  EXPECT_FALSE(told->result);
  failing->on_work = nullptr;
  testing::ExpireLock(*store, "orders", "a");
  clock->Advance(10s);
  EXPECT_TRUE(told->granted());
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

/// A batcher whose workers a test starts.
class StartedWorkersTest : public EngineTest {
 protected:
  std::shared_ptr<Batcher> MakeBatcher(int lanes) {
    store->lanes = lanes;
    return std::make_shared<Batcher>(store, *failing, 10s);
  }
  void RunStarted() {
    for (const auto& task : std::exchange(started, {})) task();
  }

  std::vector<Runtime::Task> started;
  std::shared_ptr<FailingRuntime> failing = [this] {
    auto runs = std::make_shared<FailingRuntime>(runtime);
    runs->on_work = [this](Runtime::Task task) { started.push_back(std::move(task)); };
    return runs;
  }();
};

TEST_F(StartedWorkersTest, AWorkerThatFindsNothingToDoGivesItsLaneBack) {
  const auto batcher = MakeBatcher(2);
  const Key a("a"), b("b");
  for (int i = 0; i < 5; ++i) {
    ReadOp first(*collection, a), second(*collection, b);
    int answers = 0;
    batcher->Submit(first, [&] { ++answers; });
    batcher->Submit(second, [&] { ++answers; });
    ASSERT_EQ(started.size(), 2u) << "a lane is missing, round " << i;
    RunStarted();
    ASSERT_EQ(answers, 2) << i;
  }
}

TEST_F(StartedWorkersTest, AStoreThatAnswersAtOnceIsAskedByEachCallerItself) {
  const auto batcher = MakeBatcher(1);
  const Key a("a"), b("b");
  ReadOp first(*collection, a), second(*collection, b);
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front() == &first) batcher->Execute(second);
  });
  batcher->Execute(first);
  EXPECT_EQ(first.status, OpStatus::kMissing);
  EXPECT_EQ(second.status, OpStatus::kMissing);
  store->OnExecute({});
}

}  // namespace
}  // namespace doclock::detail
