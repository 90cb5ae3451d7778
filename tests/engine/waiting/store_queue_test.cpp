#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/support/shared_store.h"
#include "engine/waiting/queue_times.h"

namespace doclock::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

/// The waiters of two processes stand in one queue, which the store keeps.
class StoreQueueTest : public EngineTest {
 protected:
  StoreQueueTest() {
    store = std::make_shared<SharedStore>(OpenMemoryStore({.clock = clock}));
    const ManagerOptions options{.max_handovers = 3, .runtime = clock->runtime()};
    manager.emplace(store, options);
    other_.emplace(store, options);
    collection = store->Open("orders", {}, 30s).get();
    EXPECT_TRUE(engine()->calls().store_has_queue());
  }

  /// A lock of the other process.
  Grant LockThere(const Key& key, LockOptions options = {}) {
    return LockBy(*other_, key, options);
  }
  std::shared_ptr<Waiting> LockThereLater(const Key& key, LockOptions options) {
    return LockLaterBy(*other_, key, options);
  }
  /// Has waited for a lock of the other process, and was just granted it.
  std::shared_ptr<Waiting> PassedOn() {
    Grant held = LockThere("a");
    auto waiting = LockLater("a", {.wait = kForever});
    EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
    clock->RunPending();
    EXPECT_TRUE(waiting->granted());
    return waiting;
  }
  /// An entry of a waiter that will never come.
  void LeaveEntryOfDead(const Key& key, std::chrono::milliseconds length,
                        LockMode mode = LockMode::kExclusive) {
    EXPECT_TRUE(Other().Acquire(key, {.mode = mode, .queue_for = length}).result.queued);
  }
  int WaitingInStore(const Key& key) {
    const LockPage page = store->ListLocks(*collection, {.key = key, .unheld = true}, {}, 1s);
    return page.rows.empty() ? 0 : page.rows.front().waiting;
  }
  /// The holder stops before the store lets another client in.
  void ExpectSafe(const Lease& lease) {
    const ReadResult stored = Stored(lease.key);
    EXPECT_TRUE(stored.locked);
    EXPECT_LT(lease.deadline(), clock->Now() + StoredLeft(lease.key));
  }
  std::chrono::milliseconds StoredLeft(const Key& key) {
    return Other().Read(key).result.remaining;
  }
  static Lease& LeaseOf(const std::shared_ptr<Waiting>& waiting) {
    return *waiting->result->grant.lease;
  }

  std::optional<LockManager> other_;
};

TEST_F(StoreQueueTest, TheFirstWaiterOfAProcessPlacesItsEntry) {
  Grant held = LockThere("a");
  std::set<Uuid> ids;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kAcquire) return;
    const GrantRequest& grant = static_cast<const AcquireOp&>(*ops.front()).request.grant;
    if (grant.queue_for.count() > 0) ids.insert(grant.lock_id);
  });
  const auto first = LockLater("a", {.wait = kForever});
  const auto second = LockLater("a", {.wait = kForever});
  clock->Advance(10s);
  EXPECT_EQ(WaitingInStore("a"), 1) << "one for each process";
  EXPECT_EQ(ids.size(), 1U) << "all its attempts have the same id";
  store->OnExecute({});
}

/// Keeps what the manager's callers were told of the store's queue.
class QueueObserver : public Observer {
 public:
  void OnWaiting(const LockEvent& event) override { began.push_back(event.waiting); }
  void OnBusy(const LockEvent& event, Errc, const LockHolder&) override {
    refused.push_back(event.waiting);
  }
  std::vector<std::optional<int>> began, refused;
};

TEST_F(StoreQueueTest, ARefusalTellsHowManyWaitBefore) {
  const auto observer = std::make_shared<QueueObserver>();
  const LockManager watched(store, {.observer = observer, .runtime = clock->runtime()});
  const auto refusal = [&](LockOptions options) {
    store->Reset();
    return std::move(Acquire(watched.engine(), Spec("a", options), {}).failure);
  };
  Grant held = LockThere("a", {.ttl = 1h});
  EXPECT_EQ(refusal({})->waiting, 0);
  LeaveEntryOfDead("a", 1h);
  LeaveEntryOfDead("a", 1h);
  EXPECT_EQ(refusal({})->waiting, 2);
  EXPECT_EQ(store->Calls(), 1) << "the refusal itself tells it";
  const FailurePtr late = refusal({.wait = 5s});
  ASSERT_EQ(late->code, Errc::kTimedOut);
  EXPECT_EQ(late->waiting, 2) << "its own entry is not counted";
  clock->RunPending();  // it leaves the queue
  EXPECT_EQ(refusal({.mode = LockMode::kShared})->waiting, 2);
  clock->RunPending();
  EXPECT_THAT(observer->began, ElementsAre(Optional(2)));
  EXPECT_THAT(observer->refused, ElementsAre(Optional(0), Optional(2), Optional(2), Optional(2)));
}

TEST_F(EngineTest, ARefusalTellsNothingOfAQueueThatTheStoreDoesNotKeep) {
  Grant held = Lock("a");
  const AcquireResult refused = Acquire(engine(), Spec("a", {}), {});
  ASSERT_TRUE(refused.failure);
  EXPECT_FALSE(refused.failure->waiting);
}

TEST_F(StoreQueueTest, AReleaseOfAnotherProcessGrantsTheLock) {
  Grant held = LockThere("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  clock->Advance(3s);
  store->Reset();
  ASSERT_FALSE(ReleaseWith(held, {{"n", 7}}));
  EXPECT_EQ(store->Calls(), 1);
  clock->RunPending();
  ASSERT_TRUE(waiting->granted());
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0) << "the hint tells it all";
  EXPECT_EQ(waiting->result->grant.body.json()["n"], 7);
  EXPECT_EQ(LeaseFence(LeaseOf(waiting)), 2);
  ExpectSafe(LeaseOf(waiting));
  EXPECT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 8}}));
  EXPECT_EQ(Stored("a").version, 3);
}

/// The reply of the attempt that made the document was lost, and its lock too.
TEST_F(StoreQueueTest, AGrantThatAHintTellsOfKnowsWhoMadeTheDocument) {
  std::optional<Grant> held;
  store->before_reply = [&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kAcquire || held) return;
    held.emplace();
    testing::BreakLock(*store, "orders", "new");
    held = LockThere("new");
  };
  store->Inject({.kind = Fault::Kind::kLostAfter, .op = OpKind::kAcquire});
  const auto waiting = LockLater("new", {.wait = kForever});
  store->Reset();
  ASSERT_FALSE(waiting->result);
  ASSERT_FALSE(ReleaseWith(*held, {{"n", 1}}));
  clock->RunPending();
  ASSERT_TRUE(waiting->granted());
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0) << "the hint tells it all";
  EXPECT_TRUE(waiting->result->grant.created);
}

/// Each process waits again as soon as it has released: the entry, and the release that passes the
/// lock on.
TEST_F(StoreQueueTest, ACycleBetweenProcessesIsTwoRequestsOnceTheQueueIsKnown) {
  Grant held = LockThere("a");
  auto waiting = LockLater("a", {.wait = 1min});
  for (int i = 0; i < 8; ++i) {
    store->Reset();
    ASSERT_FALSE(ReleaseWith(held, {{"n", i}}));
    clock->RunPending();
    ASSERT_TRUE(waiting->granted()) << i;
    held = std::move(waiting->result->grant);
    waiting = i % 2 == 0 ? LockThereLater("a", {.wait = 1min}) : LockLater("a", {.wait = 1min});
    EXPECT_EQ(WaitingInStore("a"), 1);
    EXPECT_EQ(store->Count(OpKind::kWrite), 1) << i;
    if (i > 0) {  // at first the other process does not know the queue, and requests hints
      EXPECT_EQ(store->Count(OpKind::kAcquire), 1) << i;
    }
    clock->Advance(50ms);
  }
}

TEST_F(StoreQueueTest, AFreeLockWhoseQueueIsOverIsTakenByOneRequest) {
  const auto waiting = PassedOn();
  ASSERT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 2}}));
  std::vector<bool> entered;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kAcquire) return;
    entered.push_back(static_cast<const AcquireOp&>(*ops.front()).request.grant.queue_for.count() >
                      0);
  });
  for (const std::chrono::milliseconds pause : {0ms, 3000ms}) {
    clock->Advance(pause);
    const auto again = LockLater("a", {.wait = 1min});
    ASSERT_TRUE(again->granted());
    EXPECT_FALSE(LeaseOf(again).on_probation());
    ExpectSafe(LeaseOf(again));
    ASSERT_FALSE(ReleaseWith(again->result->grant, {{"n", 3}}));
  }
  store->OnExecute({});
  EXPECT_THAT(entered, ElementsAre(true, false)) << "the queue is forgotten";
  EXPECT_EQ(WaitingInStore("a"), 0);
}

TEST_F(StoreQueueTest, ACallerThatIsGrantedTheLockAtOnceIsNotToldToWait) {
  const auto observer = std::make_shared<QueueObserver>();
  manager.emplace(store, ManagerOptions{.observer = observer, .runtime = clock->runtime()});
  const auto waiting = PassedOn();
  ASSERT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 2}}));
  observer->began.clear();
  const auto again = LockLater("a", {.wait = 1min});
  ASSERT_TRUE(again->granted());
  EXPECT_THAT(observer->began, IsEmpty());
  const auto behind = LockThereLater("a", {.wait = 1min});
  ASSERT_FALSE(ReleaseWith(again->result->grant, {{"n", 3}}));
  clock->RunPending();
  ASSERT_TRUE(behind->granted());
  const auto first = LockLater("a", {.wait = 1min});
  const auto second = LockLater("a", {.wait = 1min});
  EXPECT_THAT(observer->began, ElementsAre(Optional(0), std::nullopt)) << "the store said it";
}

TEST_F(StoreQueueTest, ACallerWhoseWaitIsShortFindsAFreeLockWhereAQueueWas) {
  const auto waiting = PassedOn();
  ASSERT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 2}}));
  clock->DelayWork(100ms);
  const auto again = LockLater("a", {.wait = 10ms});
  clock->Advance(1s);
  EXPECT_TRUE(again->granted());
  clock->DelayWork(Duration{});
}

TEST_F(StoreQueueTest, AShortHoldIsNotRenewedAndALongOneIs) {
  const auto waiting = PassedOn();
  store->Reset();
  clock->Advance(1s);
  EXPECT_EQ(store->Count(OpKind::kRenew), 0);
  EXPECT_LE(StoredLeft("a"), 5s) << "on probation";
  clock->Advance(3s);
  EXPECT_EQ(store->Count(OpKind::kRenew), 1);
  EXPECT_GT(StoredLeft("a"), 25s);
  ExpectSafe(LeaseOf(waiting));
  clock->Advance(1h);
  EXPECT_TRUE(LeaseHeld(LeaseOf(waiting)));
}

TEST_F(StoreQueueTest, ALeaseThatIsNotRenewedGetsItsWholeLengthAtOnce) {
  Grant held = LockThere("a");
  const auto waiting = LockLater("a", {.ttl = 20s, .wait = kForever, .renew = false});
  store->Reset();
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->Advance(1ms);
  ASSERT_TRUE(waiting->granted());
  EXPECT_EQ(store->Count(OpKind::kRenew), 1);
  EXPECT_GT(StoredLeft("a"), 19s);
  clock->Advance(15s);
  EXPECT_TRUE(LeaseHeld(LeaseOf(waiting)));
  EXPECT_EQ(store->Count(OpKind::kRenew), 1) << "once";
  clock->Advance(6s);
  EXPECT_FALSE(LeaseHeld(LeaseOf(waiting)));
}

TEST_F(StoreQueueTest, ACheckpointEndsTheProbation) {
  const auto waiting = PassedOn();
  EXPECT_TRUE(LeaseOf(waiting).on_probation());
  ASSERT_FALSE(
      Write(waiting->result->grant.lease, WriteKind::kCheckpoint, Body::FromJson({{"n", 2}})));
  EXPECT_FALSE(LeaseOf(waiting).on_probation());
  ExpectSafe(LeaseOf(waiting));
}

/// The grant may be older than the waiter knows: its lease counts from when it last heard that it
/// still waited.
TEST_F(StoreQueueTest, AGrantThatNobodyTellsOfIsFoundInTime) {
  for (const std::chrono::milliseconds ttl : {300ms, 2000ms, 30'000ms}) {
    store->DropHints(true);
    Grant held = LockThere("a", {.ttl = 1h});
    const auto waiting = LockLater("a", {.ttl = Duration(ttl), .wait = kForever});
    clock->Advance(3s);
    ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
    clock->Advance(RefreshAfter(ttl));
    ASSERT_TRUE(waiting->granted()) << ttl.count();
    ExpectSafe(LeaseOf(waiting));
    ASSERT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 1}}));
  }
}

/// The lock is free, but only the dead share may take it until its entry is over.
TEST_F(StoreQueueTest, TheSecondTakesTheLockAsSoonAsADeadFirstIsOver) {
  Grant held = LockThere("a");
  LeaveEntryOfDead("a", 3500ms, LockMode::kShared);
  const auto waiting = LockLater("a", {.wait = kForever});
  clock->Advance(500ms);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->Advance(2990ms);
  EXPECT_FALSE(waiting->granted());
  clock->Advance(20ms);
  EXPECT_TRUE(waiting->granted());
}

/// Otherwise the lock is granted to waiters that have gone, one after the other.
TEST_F(StoreQueueTest, AWaitThatMayEndBeforeItsTurnLeavesNoEntry) {
  for (const auto& [wait, queues] : {std::pair<Duration, bool>{120ms, false},
                                     {121ms, true},
                                     {kForever, true},
                                     {Duration(), false}}) {
    PendingAcquire waiter(engine()->shared_waits(), Spec("a", {.wait = wait}),
                          PendingAcquire::Target::kDocument, {}, clock->Now());
    waiter.first_answer = 30ms;
    EXPECT_EQ(waiter.uses_store_queue(), queues);
    clock->Advance(1s);
    EXPECT_EQ(waiter.uses_store_queue(), wait == kForever) << "its time is over";
    waiter.ticket.entered = true;
    EXPECT_EQ(waiter.uses_store_queue(), wait.count() > 0) << "it keeps the entry that it has";
  }
}

TEST_F(StoreQueueTest, WaitersHoldTheirPlaceWithFewRequests) {
  Grant held = LockThere("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  clock->RunPending();
  store->Reset();
  clock->Advance(1min);
  EXPECT_EQ(WaitingInStore("a"), 1);
  EXPECT_LE(store->Count(OpKind::kAcquire), 66) << "one a second";
  EXPECT_GE(store->Count(OpKind::kAcquire), 47);
}

TEST_F(StoreQueueTest, AWaiterThatTimesOutLeavesTheQueue) {
  Grant held = LockThere("a");
  const auto waiting = LockLater("a", {.wait = 2s});
  const auto next = LockLater("a", {.wait = kForever});
  EXPECT_EQ(WaitingInStore("a"), 1);
  clock->Advance(2s);
  EXPECT_EQ(waiting->code(), Errc::kTimedOut);
  EXPECT_EQ(WaitingInStore("a"), 1) << "the next one has a place of its own";
  CancelAcquire(next->handle);
  clock->RunPending();
  EXPECT_EQ(WaitingInStore("a"), 0);
}

TEST_F(StoreQueueTest, AWaiterThatIsStoppedDuringAnAttemptLeavesTheQueue) {
  Grant held = LockThere("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  clock->Advance(500ms);
  clock->DelayWork(2s);
  clock->Advance(1s);  // an attempt is under way
  CancelAcquire(waiting->handle);
  clock->RunPending();
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
  clock->Advance(10s);
  clock->DelayWork(Duration{});
  EXPECT_EQ(WaitingInStore("a"), 0);
}

/// Its stop token and the end of its time may come together.
TEST_F(StoreQueueTest, AWaiterThatIsStoppedTwiceDuringAnAttemptLeavesTheQueue) {
  Grant held = LockThere("a");
  auto waiting = std::make_shared<Waiting>();
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kAcquire) return;
    if (static_cast<const AcquireOp&>(*ops.front()).request.grant.queue_for.count() == 0) return;
    waiting->handle->End(Errc::kCancelled);
    waiting->handle->End(Errc::kTimedOut);
  });
  waiting->handle =
      AcquireAsync(engine(), Spec("a", {.wait = kForever}),
                   [waiting](AcquireResult result) { waiting->result = std::move(result); });
  clock->RunPending();
  store->OnExecute({});
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
  EXPECT_EQ(WaitingInStore("a"), 0);
}

TEST_F(StoreQueueTest, AWaiterThatIsStoppedBeforeItLearnsOfItsGrantPassesItOn) {
  const AcquireOp hold = Other().Create("a", {{"n", 0}}, {.ttl = 1h});
  const auto waiting = LockLater("a", {.wait = kForever});
  const auto there = LockThereLater("a", {.wait = kForever});
  EXPECT_EQ(WaitingInStore("a"), 2);
  store->DropHints(true);
  Other().Release("a", hold.request.grant.lock_id);
  EXPECT_EQ(WaitingInStore("a"), 1);
  EXPECT_FALSE(waiting->result);
  CancelAcquire(waiting->handle);
  clock->Advance(2s);
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
  ASSERT_TRUE(there->granted());
  ExpectSafe(LeaseOf(there));
}

TEST_F(StoreQueueTest, AHandOverInTheProcessRemovesTheEntry) {
  Grant held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  clock->Advance(1s);
  EXPECT_EQ(WaitingInStore("a"), 1);
  store->Reset();
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  ASSERT_TRUE(waiting->granted());
  EXPECT_EQ(store->Calls(), 1);
  EXPECT_EQ(WaitingInStore("a"), 0);
  EXPECT_FALSE(LeaseOf(waiting).on_probation());
  ExpectSafe(LeaseOf(waiting));
}

TEST_F(StoreQueueTest, AWaiterThatARefusedHandOverWasForKeepsItsPlace) {
  Grant held = Lock("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  clock->Advance(1s);
  EXPECT_EQ(WaitingInStore("a"), 1);
  store->Inject({.kind = Fault::Kind::kRefused, .op = OpKind::kWrite});
  ASSERT_TRUE(ReleaseWith(held, {{"n", 1}}));
  clock->RunPending();
  EXPECT_FALSE(waiting->result);
  EXPECT_EQ(WaitingInStore("a"), 1) << "it does not stand there twice";
}

TEST_F(StoreQueueTest, AfterTheLimitTheOtherProcessHasItsTurn) {
  Grant held = Lock("a");
  const auto there = LockThereLater("a", {.wait = kForever});
  std::vector<std::shared_ptr<Waiting>> queue;
  for (int i = 0; i < 6; ++i) queue.push_back(LockLater("a", {.wait = kForever}));
  ASSERT_FALSE(ReleaseWith(held, {{"n", 0}}));
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue[i]->granted()) << i;
    EXPECT_FALSE(there->result);
    ASSERT_FALSE(ReleaseWith(queue[i]->result->grant, {{"n", 0}}));
  }
  clock->RunPending();
  ASSERT_TRUE(there->granted());
  EXPECT_FALSE(queue[3]->result);
  ASSERT_FALSE(ReleaseWith(there->result->grant, {{"n", 0}}));
  clock->RunPending();
  EXPECT_TRUE(queue[3]->granted()) << "it had taken its place meanwhile";
}

TEST_F(StoreQueueTest, AnAttemptInDoubtGivesUpItsPlaceAndTakesAnother) {
  for (const auto kind : {Fault::Kind::kLostAfter, Fault::Kind::kLostBefore, Fault::Kind::kLate}) {
    Grant held = LockThere("a");
    const auto waiting = LockLater("a", {.wait = kForever});
    store->Inject({.kind = kind, .op = OpKind::kAcquire});
    clock->Advance(3s);
    store->ReleaseLate();
    clock->Advance(3s);
    EXPECT_FALSE(waiting->result);
    ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
    clock->Advance(10s);
    ASSERT_TRUE(waiting->granted());
    ExpectSafe(LeaseOf(waiting));
    ASSERT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 1}}));
    EXPECT_EQ(WaitingInStore("a"), 0);
  }
}

/// However long its lease would be.
TEST_F(StoreQueueTest, AnAttemptInDoubtIsGivenUpNoLongerThanItMayTake) {
  Grant held = LockThere("a", {.ttl = 12h});
  const auto waiting = LockLater("a", {.ttl = 12h, .wait = kForever});
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kAcquire});
  clock->Advance(3s);
  store->Reset();
  clock->Advance(4s);
  EXPECT_GT(store->Count(OpKind::kWrite), 0) << "it may still come";
  clock->Advance(8s);
  store->Reset();
  clock->Advance(1min);
  EXPECT_EQ(store->Count(OpKind::kWrite), 0);
}

TEST_F(StoreQueueTest, AnAttemptThatComesLateKeepsNobodyOut) {
  for (const bool granted_first : {false, true}) {
    SCOPED_TRACE(granted_first);
    Grant held = LockThere("a");
    const auto waiting = LockLater("a", {.wait = kForever});
    clock->RunPending();
    store->Inject({.kind = Fault::Kind::kLate, .op = OpKind::kAcquire});
    if (!granted_first) clock->Advance(3s);  // it asks again, to keep its place
    ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
    clock->Advance(3s);
    ASSERT_TRUE(waiting->granted());
    ASSERT_FALSE(ReleaseWith(waiting->result->grant, {{"n", 1}}));
    store->ReleaseLate();
    clock->Advance(10s);
    EXPECT_FALSE(Stored("a").locked) << "under an id that no client knows";
    EXPECT_EQ(WaitingInStore("a"), 0);
  }
}

TEST_F(StoreQueueTest, AReaderHasItsTurnAmongTheWritersOfAnotherProcess) {
  Grant held = LockThere("a");
  std::vector<std::shared_ptr<Waiting>> writers;
  for (int i = 0; i < 6; ++i) writers.push_back(LockThereLater("a", {.wait = kForever}));
  const auto reader = LockLater("a", {.wait = kForever, .mode = LockMode::kShared});
  EXPECT_EQ(WaitingInStore("a"), 2) << "one for each process";
  ASSERT_FALSE(ReleaseWith(held, {{"n", 0}}));
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(writers[i]->granted()) << i;
    EXPECT_FALSE(reader->result);
    ASSERT_FALSE(ReleaseWith(writers[i]->result->grant, {{"n", 0}}));
  }
  clock->RunPending();
  ASSERT_TRUE(reader->granted());
  EXPECT_FALSE(LeaseOf(reader).on_probation());
  EXPECT_FALSE(writers[3]->result);
  ASSERT_FALSE(Write(reader->result->grant.lease, WriteKind::kRelease, Body()));
  clock->RunPending();
  EXPECT_TRUE(writers[3]->granted());
}

TEST_F(StoreQueueTest, ALeaseThatIsOverWhenTheGrantIsLearntOfIsGivenBack) {
  Grant held = LockThere("a", {.ttl = 1h});
  const auto waiting = LockLater("a", {.ttl = 1s, .wait = kForever});
  store->DropHints(true);
  HoldUp(OpKind::kAcquire, 2s);
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->Advance(1s);
  ASSERT_TRUE(waiting->granted());
  EXPECT_EQ(LeaseFence(LeaseOf(waiting)), 4) << "passed on, given back, granted anew";
  ExpectSafe(LeaseOf(waiting));
}

TEST_F(StoreQueueTest, ClosingLeavesTheQueue) {
  Grant held = LockThere("a");
  const auto waiting = LockLater("a", {.wait = kForever});
  EXPECT_EQ(WaitingInStore("a"), 1);
  manager->Close();
  EXPECT_EQ(waiting->code(), Errc::kCancelled);
  EXPECT_EQ(WaitingInStore("a"), 0);
}

TEST_F(StoreQueueTest, AWriterInTheQueueKeepsNewSharesOut) {
  Grant reader = LockThere("a", {.mode = LockMode::kShared});
  const auto writer = LockLater("a", {.wait = kForever});
  for (int i = 0; i < 200; ++i) {
    clock->Advance(50ms);
    const LockOptions share{.mode = LockMode::kShared};
    ASSERT_TRUE(Acquire(other_->engine(), Spec("a", share), {}).failure) << i;
  }
  ASSERT_FALSE(Write(reader.lease, WriteKind::kRelease, Body()));
  clock->Advance(2s);
  EXPECT_TRUE(writer->granted());
}

TEST_F(StoreQueueTest, AReaderThatTimesOutLeavesTheQueue) {
  Grant held = LockThere("a");
  const auto reader = LockLater("a", {.wait = 2s, .mode = LockMode::kShared});
  EXPECT_EQ(WaitingInStore("a"), 1);
  clock->Advance(2s);
  EXPECT_EQ(reader->code(), Errc::kTimedOut);
  EXPECT_EQ(WaitingInStore("a"), 0);
}

TEST_F(StoreQueueTest, AGrantInDoubtIsGivenBackAndTakenAnew) {
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    for (const auto kind :
         {Fault::Kind::kLostAfter, Fault::Kind::kLostBefore, Fault::Kind::kLate}) {
      Grant held = LockThere("a");
      const auto waiting = LockLater("a", {.wait = kForever, .mode = mode});
      store->Inject({.kind = kind, .op = OpKind::kAcquire});
      ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
      clock->Advance(10s);
      ASSERT_TRUE(waiting->granted());
      ExpectSafe(LeaseOf(waiting));
      ASSERT_FALSE(Write(waiting->result->grant.lease, WriteKind::kRelease, Body()));
      store->ReleaseLate();
      clock->Advance(10s);
      EXPECT_FALSE(Stored("a").locked) << "nothing is left behind";
      EXPECT_EQ(WaitingInStore("a"), 0);
    }
  }
}

}  // namespace
}  // namespace doclock::detail
