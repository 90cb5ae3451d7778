// Rules about MongoDB that were learnt from failures, one test or script each. Take the rule out,
// and the test fails.
//
// clang-format off
// a lock id in an array, even [null], is not free:
//     MalformedLock.IsNeverGranted
// a lease without a proper date is never over:
//     MalformedLock.IsNeverGranted
// ... and fails none of its neighbours:
//     AMalformedNeighbourDoesNotDisturbOthers
// a version that is a double does not count:
//     MalformedLock.IsNeverGranted
// a duplicate _id is busy, also where another index is violated:
//     AHeldDocumentIsBusyThoughAUniqueIndexIsInTheWay
// a duplicate in another index is a conflict, never busy:
//     unique.script
// the look after a duplicate key is local:
//     TheLookAtAHolderIsLocal
// no retryable findAndModify:
//     LocksWithoutAStoredImage
// large bodies do not share a command:
//     LargeBodiesTravelAlone
// a write names the version it last knew:
//     write.script
// a renewal has to find the lease alive:
//     acquire.script
// a renewal changes the document:
//     ARenewalChangesTheDocument
// a save has to find the document free, not only at its version:
//     save.script
// a save over an expired lock ends its holder's right:
//     save.script
// no upsert after doubt:
//     ARetryAfterDoubtCreatesNothing
// what may come yet is given back again and again:
//     ALockThatComesLateIsGivenBack
// any write concern error is doubt:
//     FailCommand.TellsWhatHappenedOrDoubt
// a frozen server bounds every call:
//     MongoFailover.AFrozenPrimaryBoundsEveryCall
// the stream tells of ids that become null, not of renewals:
//     ARenewalWakesNoWaiter
// clang-format on

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "doclock/locking_repository.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

class MongoProtocol : public ::testing::Test {
 protected:
  /// Puts a document there as another program would; the text is canonical Extended JSON.
  void Put(const std::string& json) { database_.Insert("things", json); }
  std::int64_t Count(const mongodb::Doc& query, const char* collection = "things") {
    return database_.Count(collection, query);
  }

  Database database_{SetUri()};
  // A slow disk is no fault here.
  Client client_{OpenMongodbStore(database_.uri(), {.socket_timeout = 60s})};
};

constexpr const char* kSomeId =
    R"({"$binary":{"base64":"AAECAwQFBgcICQoLDA0ODw==","subType":"04"}})";

TEST_F(MongoProtocol, AMalformedNeighbourDoesNotDisturbOthers) {
  Put(std::string(R"({"_id":"a","lockVersion":1,"lockTime":"yesterday","lockId":)") + kSomeId +
      "}");
  Put(std::string(R"({"_id":"b","lockVersion":1,"lockTtl":"long","lockTime":5,"lockId":)") +
      kSomeId + "}");
  const Key keys[] = {Key("a"), Key("b"), Key("c"), Key("d")};
  const Uuid id = NewUuid(), other = NewUuid();
  ASSERT_EQ(client_.Acquire(keys[2], id, Counted(1)).status, OpStatus::kDone);
  ASSERT_EQ(client_.Acquire(keys[3], other, Counted(1)).status, OpStatus::kDone);
  client_.Expire(keys[3]);

  std::vector<RenewOp> renewals;
  for (const Key& key : keys) {
    renewals.push_back(client_.RenewOf(key, &key == &keys[2] ? id : other));
  }
  std::vector<StoreOp*> batch;
  for (RenewOp& op : renewals) batch.push_back(&op);
  client_.Execute(batch);
  EXPECT_NE(renewals[0].status, OpStatus::kDone);
  EXPECT_NE(renewals[1].status, OpStatus::kDone);
  EXPECT_EQ(renewals[2].status, OpStatus::kDone) << Why(renewals[2]);
  EXPECT_EQ(renewals[3].status, OpStatus::kLost) << Why(renewals[3]);
  // The only one that can be taken is found behind them.
  const Client::Next next = client_.AcquireNext(Filter{});
  EXPECT_EQ(next.status, OpStatus::kDone) << Why(next.op);
  EXPECT_EQ(next.key, keys[3]);
}

TEST_F(MongoProtocol, AHeldDocumentIsBusyThoughAUniqueIndexIsInTheWay) {
  client_.store().EnsureIndex(client_.collection(), {.fields = {"n"}, .unique = true});
  const Key held("held"), other("other");
  ASSERT_EQ(client_.Acquire(held, NewUuid(), Counted(1)).status, OpStatus::kDone);
  ASSERT_EQ(client_.Save(SaveKind::kInsert, other, 0, {}, Counted(2)).status, OpStatus::kDone);
  const AcquireOp op = client_.Acquire(held, NewUuid(), Counted(2));
  EXPECT_EQ(op.status, OpStatus::kBusy) << Why(op);
}

TEST_F(MongoProtocol, LocksWithoutAStoredImage) {
  const Key key("a");
  database_.Run(mongodb::Doc::Of("profile", 2));
  const Uuid id = NewUuid();
  const AcquireOp held = client_.Acquire(key, id, Counted(1));
  ASSERT_EQ(held.status, OpStatus::kDone);
  ASSERT_EQ(client_.Release(key, id).status, OpStatus::kDone);
  database_.Run(mongodb::Doc::Of("profile", 0));
  mongodb::Doc all, with_image;
  all.Add("command.findAndModify", "things");
  with_image.Add("command.findAndModify", "things");
  with_image.Add("command.txnNumber", mongodb::Doc::Of("$exists", true));
  EXPECT_GE(Count(all, "system.profile"), 1);
  EXPECT_EQ(Count(with_image, "system.profile"), 0);
}

/// By majority it may still say "free", where the duplicate key says "held": for ever.
TEST_F(MongoProtocol, TheLookAtAHolderIsLocal) {
  const Key key("a");
  ASSERT_EQ(client_.Acquire(key, NewUuid(), Counted(1)).status, OpStatus::kDone);
  database_.Run(mongodb::Doc::Of("profile", 2));
  ASSERT_EQ(client_.Acquire(key, NewUuid(), Counted(1)).status, OpStatus::kBusy);
  ASSERT_EQ(client_.Acquire(key, NewUuid()).status, OpStatus::kBusy);
  database_.Run(mongodb::Doc::Of("profile", 0));
  mongodb::Doc all, not_local;
  all.Add("command.find", "things");
  not_local.Add("command.find", "things");
  mongodb::Doc level;
  level.AddStrings("$in", {"majority", "linearizable", "snapshot"});
  not_local.Add("command.readConcern.level", level);
  EXPECT_GE(Count(all, "system.profile"), 2);
  EXPECT_EQ(Count(not_local, "system.profile"), 0);
}

/// 24 MB in one command are refused; less, but much, would delay the small ones.
TEST_F(MongoProtocol, LargeBodiesTravelAlone) {
  for (const std::size_t size : {2'000'000, 9'000'000}) {
    SCOPED_TRACE(size);
    const std::string name = std::to_string(size);
    const Key keys[] = {Key("a" + name), Key("b" + name), Key("c" + name), Key("small" + name)};
    std::vector<SaveOp> saves;
    for (const Key& key : keys) {
      SaveOp& op = saves.emplace_back(client_.collection(), key);
      op.request.save = SaveKind::kInsert;
      op.request.write_id = NewUuid();
      op.request.body = Body::FromJson({{"text", std::string(&key == &keys[3] ? 10 : size, 'x')}});
    }
    std::vector<StoreOp*> batch;
    for (SaveOp& op : saves) batch.push_back(&op);
    database_.Run(mongodb::Doc::Of("profile", 2));
    client_.store().Execute(batch, 60s);
    database_.Run(mongodb::Doc::Of("profile", 0));
    for (const SaveOp& op : saves) EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
  }
  mongodb::Doc inserts, shared;
  inserts.Add("op", "insert").Add("ns", database_.name() + ".things");
  shared.Add("op", "insert").Add("ninserted", mongodb::Doc::Of("$gt", 1));
  EXPECT_EQ(Count(inserts, "system.profile"), 8);
  EXPECT_EQ(Count(shared, "system.profile"), 0);
}

/// An old primary that has thawed acknowledges a write that changes nothing.
TEST_F(MongoProtocol, ARenewalChangesTheDocument) {
  const Key key("a");
  const Uuid id = NewUuid();
  ASSERT_EQ(client_.Acquire(key, id, Counted(1)).status, OpStatus::kDone);
  for (int i = 0; i < 3; ++i) {
    const std::string before = database_.Stored();
    std::this_thread::sleep_for(2ms);
    ASSERT_EQ(client_.Renew(key, id).status, OpStatus::kDone);
    EXPECT_NE(database_.Stored(), before);
  }
}

TEST_F(MongoProtocol, ARetryAfterDoubtCreatesNothing) {
  const LockingRepository<nlohmann::json> things(
      LockManager(OpenMongodbStore(database_.uri() + "&heartbeatFrequencyMS=500")), "things",
      {.ttl = 30s});
  const CommandFault closed{.name = "closed connection", .close = true};
  const FailPoint point(database_, closed, {.times = 1, .commands = {"findAndModify", "update"}});
  EXPECT_THROW((void)things.Lock({"a", nlohmann::json{{"n", 1}}}), InDoubtException);
  EXPECT_EQ(Count(mongodb::Doc()), 0)
      << "if another client had erased it meanwhile, this would have created it again";
}

TEST_F(MongoProtocol, ALockThatComesLateIsGivenBack) {
  client_.Save(SaveKind::kInsert, Key("a"), 0, {}, Counted(1));
  const LockingRepository<nlohmann::json> things(
      LockManager(OpenMongodbStore(database_.uri(), {.socket_timeout = 200ms}),
                  {.call_budget = 300ms}),
      "things", {.ttl = 1h});
  const LockingRepository<nlohmann::json> others(LockManager(OpenMongodbStore(database_.uri())),
                                                 "things", {.ttl = 1h});
  const CommandFault late{.name = "late", .block_ms = 1500};
  FailPoint point(database_, late, {.commands = {"findAndModify", "update"}});
  EXPECT_THROW((void)things.Lock("a"), InDoubtException);
  point.End();
  // The ghosts have come by then, or will: this takes one of their locks for granted, and their
  // lease is far longer than this wait.
  std::this_thread::sleep_for(2s);
  EXPECT_NO_THROW(others.Lock("a", {.wait = 5min}).Discard());
}

TEST_F(MongoProtocol, ARenewalWakesNoWaiter) {
  const Key key("a"), sign("sign");
  const Uuid id = NewUuid();
  const AcquireOp held = client_.Acquire(key, id, Counted(1));
  ASSERT_EQ(held.status, OpStatus::kDone);
  std::atomic<int> mine = 0, any = 0, signs = 0;
  const auto subscription = client_.store().Watch(client_.collection(), [&](const LockHint& hint) {
    if (!hint.hash) {
      ++any;
    } else if (*hint.hash == key.Hash()) {
      ++mine;
    } else {
      ++signs;
    }
  });
  ASSERT_TRUE(subscription);
  // An insert or an erase is a hint; one that comes through shows that the stream stands.
  const auto await_sign = [&] {
    const auto end = std::chrono::steady_clock::now() + 20s;
    for (const int before = signs; signs == before;) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the stream tells nothing";
      client_.Save(SaveKind::kInsert, sign, 0, {}, Counted(1));
      client_.Save(SaveKind::kErase, sign);
      std::this_thread::sleep_for(50ms);
    }
  };
  await_sign();
  const int mine_before = mine, any_before = any;
  for (int i = 0; i < 10; ++i) ASSERT_EQ(client_.Renew(key, id).status, OpStatus::kDone);
  await_sign();
  EXPECT_EQ(mine, mine_before) << "renewals were told as releases";
  EXPECT_EQ(any, any_before);
  ASSERT_EQ(client_.Release(key, id, {.expected = held.result.version}).status, OpStatus::kDone);
  await_sign();
  EXPECT_EQ(mine, mine_before + 1);
}

}  // namespace
}  // namespace doclock::mongo_test
