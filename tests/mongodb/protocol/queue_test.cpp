// The queue in the document: how many commands a waiter and a release cost, which store instance is
// told, and what a program does that knows nothing of the queue.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "doclock/lock_manager.h"
#include "doclock/lock_provider.h"
#include "mongodb/bson/bson.h"
#include "mongodb/support/client.h"
#include "mongodb/support/monitored_pool.h"
#include "mongodb/support/raw_documents.h"

namespace doclock::mongo_test {
namespace {

bool Eventually(const std::function<bool()>& holds) {
  for (int i = 0; i < 30'000 && !holds(); ++i) std::this_thread::sleep_for(10ms);
  return holds();
}

class MongoQueue : public ::testing::Test {
 protected:
  /// Holds the lock of `key_` in one store; the waiter is to be another's.
  void SetUp() override {
    held_ = holder_.Acquire(key_, NewUuid(), Counted(1));
    ASSERT_EQ(held_.status, OpStatus::kDone) << Why(held_);
    holder_pool_.Take();
  }
  WriteOp Release(const AcquireOp& held, bool queue_likely = false) {
    WriteOp op = holder_.ReleaseOf(key_, held.request.grant.lock_id,
                                   {.expected = held.result.version, .body = Counted(2)});
    op.queue_likely = queue_likely;
    holder_.Execute(op);
    return op;
  }
  WriteOp ReleaseShare(const Uuid& id, bool queue_likely) {
    WriteOp op = holder_.ReleaseOf(key_, id, {.mode = LockMode::kShared});
    op.queue_likely = queue_likely;
    holder_.Execute(op);
    return op;
  }
  AcquireOp Enter(Client& waiter, const Uuid& id, bool queue_likely = false) {
    AcquireOp op =
        waiter.Acquire(key_, {.id = id, .queue_for = kTtl, .queue_likely = queue_likely});
    EXPECT_EQ(op.status, OpStatus::kBusy) << Why(op);
    EXPECT_TRUE(op.result.queued);
    return op;
  }
  /// What a program does that was written before there was a queue.
  void ReleaseAsBefore() {
    mongodb::Doc set, update;
    set.AddNull("lockId").Add("lockReleased", held_.request.grant.lock_id);
    update.Add("$set", set).Add("$inc", mongodb::Doc::Of("lockVersion", std::int64_t{1}));
    database_.Update("things", mongodb::Doc::Of("_id", key_), update);
  }
  void SetQueue(const std::string& json) {
    database_.Update("things", key_, R"({"$set": {"lockQueue": )" + json + "}}");
  }
  bool HasQueue() {
    return database_.Stored(mongodb::Doc::Of("_id", key_)).find("lockQueue") != std::string::npos;
  }

  Database database_{SetUri()};
  MonitoredPool holder_pool_{WithSocketTimeout(SetUri()), database_.name()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client holder_{OpenMongodbStore(holder_pool_.get(), database_.name())};
  Client waiter_{OpenMongodbStore(pool_.get(), database_.name())};
  const Key key_{"a"};
  AcquireOp held_{holder_.collection(), key_};
};

TEST_F(MongoQueue, AWaitersAttemptIsOneCommand) {
  const Uuid id = NewUuid();
  pool_.Take();
  const AcquireOp first = Enter(waiter_, id);
  EXPECT_EQ(first.result.ahead, 0);
  EXPECT_TRUE(first.detail->remaining);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
  EXPECT_EQ(Enter(waiter_, NewUuid(), true).result.ahead, 1);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
  EXPECT_EQ(Enter(waiter_, id, true).result.ahead, 0) << "it keeps its place";
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
}

TEST_F(MongoQueue, AReleaseThatMeetsAQueueIsTwoUpdatesOrOneWhereItIsLikely) {
  const Uuid id = NewUuid(), second = NewUuid();
  Enter(waiter_, id);
  Enter(waiter_, second);
  holder_pool_.Take();
  const WriteOp release = Release(held_);
  EXPECT_EQ(release.status, OpStatus::kDone) << Why(release);
  EXPECT_EQ(release.result.version, held_.result.version + 1);
  EXPECT_EQ(holder_pool_.Take(), "update 2");
  const AcquireOp granted = waiter_.Wait(key_, id);
  ASSERT_EQ(granted.status, OpStatus::kDone) << Why(granted);
  EXPECT_TRUE(granted.result.passed_on);
  EXPECT_EQ(granted.result.version, release.result.version);
  EXPECT_EQ(granted.result.body.json(), Counted(2).json());
  EXPECT_EQ(Release(granted, true).status, OpStatus::kDone);
  EXPECT_EQ(holder_pool_.Take(), "update 1");
  EXPECT_EQ(holder_.Read(key_).result.lock_id, second);
  EXPECT_FALSE(HasQueue());
}

TEST_F(MongoQueue, AShareThatWaitsTakesOneCommandForEachAttempt) {
  const Uuid id = NewUuid();
  const auto attempt = [&] {
    return waiter_.Acquire(key_, {.id = id, .mode = LockMode::kShared, .queue_for = kTtl});
  };
  pool_.Take();
  const AcquireOp entered = attempt();
  EXPECT_TRUE(entered.result.queued) << Why(entered);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
  ASSERT_EQ(Release(held_).status, OpStatus::kDone);
  ASSERT_EQ(attempt().status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
  EXPECT_FALSE(HasQueue());
}

TEST_F(MongoQueue, TheLastShareThatMeetsAQueueIsReleasedByTwoCommandsOrOneWhereItIsLikely) {
  ASSERT_EQ(Release(held_).status, OpStatus::kDone);
  for (const bool likely : {false, true}) {
    const Uuid share = NewUuid(), writer = NewUuid();
    const AcquireOp shared = holder_.Share(key_, share);
    ASSERT_EQ(shared.status, OpStatus::kDone) << Why(shared);
    Enter(waiter_, writer);
    holder_pool_.Take();
    const WriteOp release = ReleaseShare(share, likely);
    ASSERT_EQ(release.status, OpStatus::kDone) << Why(release);
    EXPECT_EQ(release.result.version, shared.result.version + 1) << "raised with the grant";
    EXPECT_EQ(holder_pool_.Take(), likely ? "findAndModify 1" : "findAndModify 2");
    const AcquireOp granted = waiter_.Wait(key_, writer);
    EXPECT_TRUE(granted.result.passed_on) << Why(granted);
    EXPECT_EQ(granted.result.version, release.result.version);
    EXPECT_EQ(holder_.Release(key_, writer, {.expected = granted.result.version}).status,
              OpStatus::kDone);
  }
}

/// Whatever a foreign program wrote in place of a share's limit.
TEST_F(MongoQueue, AnEntryOfAShareThatIsNotSoundCountsForNothing) {
  for (const char* const limit : {"-1", "1001", "\"2\"", "{}", "2.5"}) {
    const auto time = R"("until": {"$date": {"$numberLong": "32503680000000"}}, "ttl": 1000)";
    const auto id = R"("id": {"$binary": {"base64": "AAAAAAAAQACAAAAAAAAAAQ==", "subType": "04"}})";
    SetQueue(std::string("[{") + id + "," + time + R"(, "share": )" + limit + "}]");
    const AcquireOp op = Enter(waiter_, NewUuid());
    EXPECT_EQ(op.result.ahead, 0) << limit;
    ASSERT_EQ(Release(held_).status, OpStatus::kDone) << limit;
    ASSERT_EQ(holder_.Read(key_).result.lock_id, op.request.grant.lock_id) << limit;
    held_.request.grant.lock_id = op.request.grant.lock_id;
    ++held_.result.version;
  }
}

/// Without a queue nothing is sent that was not sent before.
TEST_F(MongoQueue, AWaiterThatFindsTheLockFreeTakesItByOneCommand) {
  ASSERT_EQ(Release(held_).status, OpStatus::kDone);
  EXPECT_EQ(holder_pool_.Take(), "update 1");
  pool_.Take();
  const AcquireOp taken = waiter_.Wait(key_, NewUuid());
  EXPECT_EQ(taken.status, OpStatus::kDone) << Why(taken);
  EXPECT_FALSE(taken.result.passed_on);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
}

TEST_F(MongoQueue, AWaiterEntersByOneCommandDuringAMinHoldToo) {
  const Key key("for a while");
  ASSERT_EQ(holder_.Acquire(key, {.id = NewUuid(), .insert = Counted(1), .min_hold = kTtl}).status,
            OpStatus::kDone);
  pool_.Take();
  const AcquireOp waits =
      waiter_.Acquire(key, {.id = NewUuid(), .queue_for = kTtl, .queue_likely = true});
  EXPECT_TRUE(waits.result.queued) << Why(waits);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
}

/// A projection applies paths to each element of an array.
TEST_F(MongoQueue, ABodyMayHaveArraysOfTheNamesThatAnswersHave) {
  nlohmann::json body;
  for (const char* name : {"doc", "now", "place", "granted", "lock"}) body[name] = {"one", "two"};
  for (const bool likely : {false, true}) {
    const Key key(likely ? "likely" : "cold");
    const AcquireOp held = holder_.Acquire(key, NewUuid(), Body::FromJson(body));
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_EQ(waiter_.Acquire(key, NewUuid()).status, OpStatus::kBusy);
    EXPECT_EQ(waiter_.Share(key, NewUuid()).status, OpStatus::kBusy);
    pool_.Take();
    const AcquireOp waits =
        waiter_.Acquire(key, {.id = NewUuid(), .queue_for = kTtl, .queue_likely = likely});
    EXPECT_TRUE(waits.result.queued) << Why(waits);
    EXPECT_EQ(pool_.Take(), "findAndModify 1");
    EXPECT_EQ(holder_.Renew(key, NewUuid()).status, OpStatus::kLost);
    ASSERT_EQ(holder_.Release(key, held).status, OpStatus::kDone);
    const AcquireOp granted = waiter_.Wait(key, waits.request.grant.lock_id);
    EXPECT_TRUE(granted.result.passed_on) << Why(granted);
    EXPECT_EQ(granted.result.body.json(), body);
    waiter_.Expire(key);
    EXPECT_EQ(holder_.Acquire(key, NewUuid()).status, OpStatus::kDone) << "taken over";
  }
}

/// Where a queue is likely a waiter leaves its entry first, which costs the server least, and finds
/// out by that what else it may do.
TEST_F(MongoQueue, AWaiterThatExpectsAQueueTakesASecondCommandWhereTheLockIsNotHeld) {
  waiter_.Expire(key_);
  pool_.Take();
  const AcquireOp over =
      waiter_.Acquire(key_, {.id = NewUuid(), .queue_for = kTtl, .queue_likely = true});
  EXPECT_EQ(over.status, OpStatus::kDone) << Why(over);
  EXPECT_TRUE(over.result.took_over);
  EXPECT_FALSE(over.result.passed_on);
  EXPECT_EQ(pool_.Take(), "findAndModify 2");
  EXPECT_FALSE(HasQueue());
  ASSERT_EQ(Release(over).status, OpStatus::kDone);
  pool_.Take();
  const AcquireOp free =
      waiter_.Acquire(key_, {.id = NewUuid(), .queue_for = kTtl, .queue_likely = true});
  EXPECT_EQ(free.status, OpStatus::kDone) << Why(free);
  EXPECT_FALSE(free.result.took_over);
  EXPECT_EQ(pool_.Take(), "findAndModify 2");
  EXPECT_FALSE(HasQueue());
}

/// The change streams of both stores, which are open: each has told of a release.
class MongoQueueStreams : public MongoQueue {
 protected:
  void SetUp() override {
    MongoQueue::SetUp();
    const Key probe("probe");
    std::atomic<bool> probed = false, others_probed = false;
    const auto look = [&](std::atomic<bool>& seen) {
      return [&](const LockHint& hint) {
        if (hint.hash == probe.Hash()) seen = true;
      };
    };
    const auto one = waiter_.store().Watch(waiter_.collection(), look(probed));
    const auto other = holder_.store().Watch(holder_.collection(), look(others_probed));
    ASSERT_TRUE(Eventually([&] {
      const Uuid id = NewUuid();
      const AcquireOp op = holder_.Acquire(probe, id, Counted(1));
      if (op.status == OpStatus::kDone) {
        holder_.Release(probe, id, {.expected = op.result.version});
      }
      return probed && others_probed;
    }));
    told_ = others_told_ = 0;  // of the document's insertion
  }
  /// Releases the lock, and returns when the waiter's stream has told of it.
  void PassOn(const Body& body) {
    const int before = told_;
    const WriteOp release = holder_.Release(key_, held_, body);
    ASSERT_EQ(release.status, OpStatus::kDone) << Why(release);
    ASSERT_TRUE(Eventually([&] { return told_ > before; }));
  }
  std::unique_ptr<Subscription> Counting(Client& client, std::atomic<int>& hints) {
    return client.store().Watch(client.collection(), [&](const LockHint& hint) {
      if (hint.hash != key_.Hash()) return;
      if (hint.grant) {
        const std::lock_guard guard(mutex_);
        grant_ = *hint.grant;
      }
      ++hints;
    });
  }
  /// What the streams have told last of a grant.
  GrantSeen Told() {
    const std::lock_guard guard(mutex_);
    return grant_;
  }

  std::mutex mutex_;
  GrantSeen grant_;

  std::atomic<int> told_ = 0, others_told_ = 0;
  std::unique_ptr<Subscription> stream_ = Counting(waiter_, told_);
  std::unique_ptr<Subscription> others_ = Counting(holder_, others_told_);
};

TEST_F(MongoQueueStreams, TellTheStoreOfTheWaiterWithTheDocument) {
  const Uuid id = NewUuid();
  Enter(waiter_, id);
  EXPECT_EQ(told_, 0);
  PassOn(Counted(2));
  const GrantSeen grant = Told();
  EXPECT_EQ(grant.lock_id, id);
  EXPECT_EQ(grant.version, held_.result.version + 1);
  EXPECT_EQ(grant.born, held_.result.born);
  ASSERT_TRUE(grant.body);
  EXPECT_EQ(grant.body.json(), Counted(2).json());
  EXPECT_EQ(others_told_, 0) << "it was nobody else's turn";
  // Without a waiter a release tells all.
  WriteOp last = waiter_.Release(key_, id, {.expected = grant.version, .body = Counted(3)});
  ASSERT_EQ(last.status, OpStatus::kDone);
  EXPECT_TRUE(Eventually([&] { return others_told_ > 0; }));
}

TEST_F(MongoQueueStreams, LeaveALargeDocumentToOneFind) {
  const Uuid id = NewUuid();
  Enter(waiter_, id);
  const Body large = Body::FromJson({{"text", std::string(20'000, 'x')}});
  PassOn(large);
  EXPECT_EQ(Told().lock_id, id);
  EXPECT_FALSE(Told().body);
  pool_.Take();
  AcquireOp granted = waiter_.AcquireOf(key_, {.id = id, .queue_for = kTtl});
  granted.request.seems_granted = true;
  waiter_.Execute(granted);
  EXPECT_EQ(granted.status, OpStatus::kDone) << Why(granted);
  EXPECT_TRUE(granted.result.passed_on);
  EXPECT_EQ(granted.result.body.json(), large.json());
  EXPECT_EQ(pool_.Take().substr(0, 6), "find 1") << "beside the streams' getMore";
}

TEST_F(MongoQueue, AQueueThatAnOlderProgramLeavesBehindIsServedByTheNextAttempt) {
  const Uuid first = NewUuid(), second = NewUuid();
  Enter(waiter_, first);
  Enter(waiter_, second);
  ReleaseAsBefore();
  const AcquireOp passing = holder_.Acquire(key_, NewUuid());
  EXPECT_EQ(passing.status, OpStatus::kBusy) << "it passes no waiter";
  EXPECT_EQ(holder_.Read(key_).result.lock_id, first);
  const AcquireOp granted = waiter_.Wait(key_, first);
  EXPECT_EQ(granted.status, OpStatus::kDone) << Why(granted);
  EXPECT_TRUE(granted.result.passed_on);
}

TEST_F(MongoQueue, AnEntryLapses) {
  const AcquireOp gone = waiter_.Acquire(key_, {.id = NewUuid(), .queue_for = 1ms});
  EXPECT_EQ(gone.status, OpStatus::kBusy);
  std::this_thread::sleep_for(5ms);
  ASSERT_EQ(Release(held_).status, OpStatus::kDone);
  EXPECT_TRUE(holder_.Read(key_).result.lock_id.is_nil());
  EXPECT_FALSE(HasQueue());
}

TEST_F(MongoQueue, WhatIsNoQueueCountsAsNone) {
  for (const char* const queue :
       {"null", "7", "[]", R"({"a": 1})", R"([1, null, {"id": 3}, {"until": "never"}])",
        R"([{"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}},
             "until": {"$date": "2100-01-01T00:00:00Z"}, "ttl": "long"}])"}) {
    SCOPED_TRACE(queue);
    SetQueue(queue);
    const AcquireOp busy = waiter_.Acquire(key_, NewUuid());
    EXPECT_EQ(busy.status, OpStatus::kBusy) << Why(busy);
    const WriteOp release = Release(held_);
    EXPECT_EQ(release.status, OpStatus::kDone) << Why(release);
    EXPECT_FALSE(HasQueue());
    SetQueue(queue);
    held_ = holder_.Acquire(key_, NewUuid());
    ASSERT_EQ(held_.status, OpStatus::kDone) << Why(held_);
  }
}

/// A validator that knows the lock's older fields only must not end waits.
TEST_F(MongoQueue, AWaiterThatMayLeaveNoEntryPolls) {
  mongodb::Doc command;
  command.Add("collMod", "things");
  command.Add("validator", mongodb::Doc::Of("lockQueue", mongodb::Doc::Of("$exists", false)));
  database_.Run(command);
  const Uuid id = NewUuid();
  for (int i = 0; i < 2; ++i) {
    const AcquireOp busy = waiter_.Wait(key_, id);
    EXPECT_EQ(busy.status, OpStatus::kBusy) << Why(busy);
    EXPECT_FALSE(busy.result.queued);
  }
  EXPECT_EQ(Release(held_).status, OpStatus::kDone);
  EXPECT_EQ(waiter_.Wait(key_, id).status, OpStatus::kDone);
}

/// What is told as queued is stored.
TEST_F(MongoQueue, TheGrantToTheFirstOfAFullQueueMakesRoomForOne) {
  std::vector<Uuid> ids;
  for (std::size_t i = 0; i < kMaxQueueEntries; ++i) Enter(waiter_, ids.emplace_back(NewUuid()));
  const Uuid late = NewUuid();
  EXPECT_FALSE(waiter_.Wait(key_, late).result.queued);
  ReleaseAsBefore();
  const AcquireOp op = Enter(waiter_, late);
  EXPECT_EQ(op.result.ahead, static_cast<int>(kMaxQueueEntries) - 1);
  EXPECT_EQ(holder_.Read(key_).result.lock_id, ids.front());
  EXPECT_EQ(waiter_.Leave(key_, late).status, OpStatus::kDone);
}

/// In one command they find out that they are taken, and then each leaves its entry.
TEST_F(MongoQueue, WaitersOfManyDocumentsWaitInOneCall) {
  const Key b("b");
  ASSERT_EQ(holder_.Acquire(b, NewUuid(), Counted(1)).status, OpStatus::kDone);
  AcquireOp ops[] = {waiter_.AcquireOf(key_, {.queue_for = kTtl}),
                     waiter_.AcquireOf(b, {.queue_for = kTtl})};
  for (int i = 0; i < 2; ++i) {
    waiter_.Execute({&ops[0], &ops[1]});
    for (const AcquireOp& op : ops) {
      EXPECT_EQ(op.status, OpStatus::kBusy) << Why(op);
      EXPECT_TRUE(op.result.queued);
      EXPECT_EQ(op.result.ahead, 0);
    }
  }
  // A release among others passes the lock on too.
  WriteOp release =
      holder_.ReleaseOf(key_, held_.request.grant.lock_id, {.expected = held_.result.version});
  WriteOp other = holder_.ReleaseOf(b, NewUuid(), {.expected = 1});
  holder_.Execute({&release, &other});
  EXPECT_EQ(release.status, OpStatus::kDone) << Why(release);
  EXPECT_EQ(other.status, OpStatus::kLost) << Why(other);
  waiter_.Execute({&ops[0], &ops[1]});
  EXPECT_EQ(ops[0].status, OpStatus::kDone) << Why(ops[0]);
  EXPECT_TRUE(ops[0].result.passed_on);
  EXPECT_EQ(ops[1].status, OpStatus::kBusy);
}

/// The last waiter leaves between the release that met its entry, and the look that follows.
TEST_F(MongoQueue, AReleaseAmongOthersMayMeetAQueueThatIsGoneThen) {
  const Key b("b");
  const AcquireOp other = holder_.Acquire(b, NewUuid(), Counted(1));
  ASSERT_EQ(other.status, OpStatus::kDone) << Why(other);
  const Uuid id = NewUuid();
  Enter(waiter_, id);
  WriteOp ops[] = {{holder_.collection(), key_}, {holder_.collection(), b}};
  ops[0].request.lock_id = held_.request.grant.lock_id;
  ops[0].request.expected = held_.result.version;
  ops[1].request.lock_id = other.request.grant.lock_id;
  ops[1].request.expected = other.result.version;
  OpStatus left = OpStatus::kPending;
  holder_pool_.BeforeNext("find", [&] { left = waiter_.Leave(key_, id).status; });
  holder_.Execute({&ops[0], &ops[1]});
  EXPECT_EQ(left, OpStatus::kDone);
  for (const WriteOp& op : ops) EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
}

/// In a shared command the grant by its entry could not be told from one by this command, and both
/// attempts would be in doubt.
TEST_F(MongoQueue, AWaiterWhoseEntryWasGrantedTheLockIsToldSoBesideAnAttemptAtAFreeLock) {
  const Key b("b");
  const AcquireOp made = holder_.Acquire(b, NewUuid(), Counted(1));
  ASSERT_EQ(made.status, OpStatus::kDone) << Why(made);
  const WriteOp freed = holder_.Release(b, made, Counted(1));
  ASSERT_EQ(freed.status, OpStatus::kDone) << Why(freed);
  const Uuid id = NewUuid();
  Enter(waiter_, id);
  ASSERT_EQ(Release(held_).status, OpStatus::kDone);
  AcquireOp ops[] = {{waiter_.collection(), key_}, {waiter_.collection(), b}};
  StoreOp* const all[] = {&ops[0], &ops[1]};
  for (AcquireOp& op : ops) {
    op.request.grant.lock_id = NewUuid();
    op.request.grant.ttl = kTtl;
  }
  ops[0].request.grant.lock_id = id;
  ops[0].request.grant.queue_for = kTtl;
  waiter_.store().Execute(all, waiter_.budget());
  for (const AcquireOp& op : ops) EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
  EXPECT_TRUE(ops[0].result.passed_on);
  EXPECT_FALSE(ops[1].result.passed_on);
}

/// To the server the steps of a pipeline are expressions; what users name their owners and groups
/// must not be.
TEST_F(MongoQueue, NoTextOfAWaiterIsEvaluated) {
  LockHolder holder;
  holder.name = "$lockId";
  holder.host = "$$NOW";
  AcquireOp op = waiter_.AcquireOf(key_, {.group = "$_id", .queue_for = kTtl});
  op.request.grant.owner = std::make_shared<const LockHolder>(holder);
  waiter_.Execute(op);
  ASSERT_EQ(op.status, OpStatus::kBusy) << Why(op);
  ASSERT_EQ(Release(held_).status, OpStatus::kDone);
  LockQuery query;
  query.key = key_;
  const LockPage page = holder_.store().ListLocks(holder_.collection(), query, "", 10s);
  ASSERT_EQ(page.rows.size(), 1u);
  EXPECT_EQ(page.rows[0].lock_id, op.request.grant.lock_id);
  EXPECT_EQ(page.rows[0].holder.name, "$lockId");
  EXPECT_EQ(page.rows[0].holder.host, "$$NOW");
  EXPECT_EQ(page.rows[0].group, "$_id");
}

/// Two processes wait again as soon as they have released: one leaves its entry, and one releases
/// and so passes the lock on. The change stream tells the other what it was granted.
TEST(MongoCycle, OfAHotLockIsTwoCommandsOnceTheQueueIsKnown) {
  constexpr int kWarm = 6, kCycles = 20, kMost = kCycles * 22 / 10;
  const std::string name = "hot";
  const Database database(SetUri());
  MonitoredPool pool(WithSocketTimeout(SetUri()), database.name());
  const auto provider = [&](mongoc_client_pool_t* of) {
    return LockProvider(LockManager(OpenMongodbStore(of, database.name())));
  };
  MonitoredPool watching(WithSocketTimeout(SetUri()), database.name());
  const LockProvider watcher = provider(watching.get());
  std::array<LockProvider, 2> processes{provider(pool.get()), provider(pool.get())};
  const auto is_waiting = [&] {
    const auto status = watcher.Admin().Status({.name = name});
    return !status.empty() && status.front().waiting == 1;
  };
  std::optional<HeldLock> held = processes[0].Acquire(name);
  const auto cycles = [&](int count) {
    pool.TakeCountOfRequests();
    for (int i = 0; i < count; ++i) {
      auto next = processes[i % 2 == 0 ? 1 : 0].AcquireAsync(name, {.wait = 1min});
      ASSERT_TRUE(Eventually(is_waiting));
      held->Release();
      held = next.get();
    }
  };
  cycles(kWarm);
  // On a busy machine a waiter asks before the stream tells it: once without that is enough.
  int sent = kMost + 1;
  for (int round = 0; sent > kMost && round < 5; ++round) {
    cycles(kCycles);
    sent = pool.TakeCountOfRequests();
  }
  EXPECT_LE(sent, kMost);
  held->Release();
}

}  // namespace
}  // namespace doclock::mongo_test
