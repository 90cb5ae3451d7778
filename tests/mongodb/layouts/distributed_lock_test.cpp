// Collections of DistributedLock.MongoDB (.NET): what doclock reads and writes there, beside a
// re-creation of that library (DistributedLockPeer).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <thread>

#include "doclock/lock_admin.h"
#include "doclock/lock_provider.h"
#include "doclock/open_store.h"
#include "mongodb/layouts/distributed_lock_peer.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/monitored_pool.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Doc;
using ::testing::HasSubstr;

const Body kNone = Body::FromText("{}");

MongodbStoreOptions WithLayout() {
  MongodbStoreOptions options;
  options.layouts["locks"] = "distributedlock";
  return options;
}

class DistributedLock : public ::testing::Test {
 protected:
  AcquireOp Take(const Uuid& id = NewUuid(), std::chrono::milliseconds ttl = kTtl) {
    return locks_.Acquire(key_, id, kNone, {}, ttl);
  }
  std::string Stored() { return database_.Stored({}, "locks"); }
  /// The one document; nothing if there is none.
  mongo_docs_test::BsonPtr Document() {
    mongo_docs_test::BsonPtr found{nullptr, &bson_destroy};
    database_.Run(Doc::Of("find", "locks"), [&](const bson_t& reply) {
      bson_iter_t at, first;
      bson_t doc;
      if (bson_iter_init(&at, &reply) &&
          bson_iter_find_descendant(&at, "cursor.firstBatch.0", &first) &&
          mongodb::DocumentAt(first, doc)) {
        found = mongo_docs_test::Copy(doc);
      }
    });
    return found;
  }
  std::int64_t Token() {
    bson_iter_t token;
    mongodb::FindField(*Document(), "fencingToken", token);
    return bson_iter_int64(&token);
  }
  void Change(const std::string& update) {
    Doc statement = DistributedLockPeer::FromJson(R"({"q": {"_id": "job"}, "u": )" + update + "}");
    Doc command = Doc::Of("update", "locks");
    command.AddArray("updates", mongodb::Array().Add(statement).doc());
    database_.Run(command);
  }
  void Expire() { Change(R"({"$set": {"expiresAt": {"$date": {"$numberLong": "1000"}}}})"); }
  void Delete() {
    database_.Run(DistributedLockPeer::FromJson(
        R"({"delete": "locks", "deletes": [{"q": {"_id": "job"}, "limit": 1}]})"));
  }

  Database database_{SetUri()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client locks_{OpenMongodbStore(pool_.get(), database_.name(), WithLayout()), "locks"};
  DistributedLockPeer peer_{SetUri(), database_.name(), "locks"};
  const Key key_{"job"};
};

TEST_F(DistributedLock, AGrantIsADocumentOfTheirs) {
  const AcquireOp held = Take();
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_FALSE(held.took_over);
  const auto document = Document();
  ASSERT_TRUE(document);
  EXPECT_NO_THROW(DistributedLockPeer::ReadStrictly(*document));
  EXPECT_EQ(Token(), held.version);
  EXPECT_FALSE(peer_.TryAcquire("job", kTtl));
  EXPECT_EQ(locks_.Renew(key_, held.grant.lock_id, 2 * kTtl).status, OpStatus::kDone);
  EXPECT_NO_THROW(DistributedLockPeer::ReadStrictly(*Document()));
}

TEST_F(DistributedLock, AReleaseDeletesIt) {
  const AcquireOp held = Take();
  const WriteOp released =
      locks_.Write(WriteKind::kRelease, key_, held.grant.lock_id, held.version);
  EXPECT_EQ(released.status, OpStatus::kDone) << Why(released);
  EXPECT_FALSE(Document());
  const auto theirs = peer_.TryAcquire("job", kTtl);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->token, 1);
}

TEST_F(DistributedLock, TheirLockIsBusyUntilItIsReleased) {
  const auto theirs = peer_.TryAcquire("job", kTtl);
  ASSERT_TRUE(theirs);
  const std::string before = Stored();
  const AcquireOp busy = Take();
  ASSERT_EQ(busy.status, OpStatus::kBusy) << Why(busy);
  ASSERT_TRUE(busy.detail->remaining);
  EXPECT_LE(*busy.detail->remaining, kTtl);
  EXPECT_GT(*busy.detail->remaining, kTtl / 2);
  EXPECT_EQ(Stored(), before);
  peer_.Release("job", *theirs);
  EXPECT_EQ(Take().status, OpStatus::kDone);
}

TEST_F(DistributedLock, AnExpiredLockIsTakenOver) {
  const auto theirs = peer_.TryAcquire("job", kTtl);
  ASSERT_TRUE(theirs);
  Expire();
  const AcquireOp taken = Take();
  ASSERT_EQ(taken.status, OpStatus::kDone) << Why(taken);
  EXPECT_TRUE(taken.took_over);
  EXPECT_FALSE(peer_.Renew("job", *theirs, kTtl));
  EXPECT_EQ(Token(), taken.version);
}

TEST_F(DistributedLock, ALockThatTheyTookOverIsLost) {
  const AcquireOp held = Take();
  Expire();
  EXPECT_EQ(locks_.Renew(key_, held.grant.lock_id).status, OpStatus::kLost) << "never revived";
  const auto theirs = peer_.TryAcquire("job", kTtl);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->token, held.version + 1);
  const std::string before = Stored();
  EXPECT_EQ(locks_.Renew(key_, held.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(locks_.Write(WriteKind::kRelease, key_, held.grant.lock_id, held.version).status,
            OpStatus::kLost);
  EXPECT_EQ(Stored(), before);
}

/// Their TTL index deletes expired documents at any time.
TEST_F(DistributedLock, ADeletedDocumentIsNoHolderAnyMore) {
  const AcquireOp held = Take();
  Delete();
  EXPECT_EQ(locks_.Renew(key_, held.grant.lock_id).status, OpStatus::kMissing);
  EXPECT_EQ(locks_.Write(WriteKind::kRelease, key_, held.grant.lock_id, held.version).status,
            OpStatus::kMissing);
  EXPECT_EQ(Take().status, OpStatus::kDone);
}

TEST_F(DistributedLock, ARenewalNeverShortens) {
  const AcquireOp held = Take(NewUuid(), 10 * kTtl);
  const std::string before = Stored();
  EXPECT_EQ(locks_.Renew(key_, held.grant.lock_id, kTtl).status, OpStatus::kDone);
  EXPECT_EQ(Stored(), before);
}

TEST_F(DistributedLock, AHandOverIsAGrantAtTheNextToken) {
  const AcquireOp held = Take();
  GrantRequest next;
  next.lock_id = NewUuid();
  next.ttl = kTtl;
  const WriteOp given =
      locks_.Write(WriteKind::kRelease, key_, held.grant.lock_id, held.version, {}, &next);
  ASSERT_EQ(given.status, OpStatus::kDone) << Why(given);
  EXPECT_EQ(given.version, held.version + 1);
  EXPECT_EQ(Token(), given.version);
  EXPECT_NO_THROW(DistributedLockPeer::ReadStrictly(*Document()));
  EXPECT_EQ(locks_.Renew(key_, held.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(locks_.Renew(key_, next.lock_id).status, OpStatus::kDone);
}

/// Theirs begins at 1 with every document. Ours goes on rising over theirs, and over deletions.
TEST_F(DistributedLock, FencesRise) {
  std::int64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    const Uuid id = NewUuid();
    const AcquireOp held = Take(id);
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    ASSERT_GT(held.version, last) << i;
    last = held.version;
    if (i % 3 == 0) {
      Expire();
      const auto theirs = peer_.TryAcquire("job", kTtl);
      ASSERT_TRUE(theirs);
      EXPECT_EQ(theirs->token, last + 1);
      peer_.Release("job", *theirs);
    } else if (i % 3 == 1) {
      Expire();
    } else {
      ASSERT_EQ(locks_.Write(WriteKind::kRelease, key_, id, last).status, OpStatus::kDone);
    }
  }
}

TEST_F(DistributedLock, AMalformedDocumentIsNamedAndStays) {
  const std::map<std::string, std::string> spoilt = {
      {R"({"$set": {"lockVersion": 1}})", "lockVersion"},
      {R"({"$set": {"lockId": null}})", "lockId"},
      {R"({"$set": {"lockId": "not 32 digits"}})", "lockId"},
      {R"({"$set": {"lockId": "0123456789ABCDEF0123456789ABCDEF"}})", "lockId"},
      {R"({"$unset": {"expiresAt": 1}})", "expiresAt"},
      {R"({"$set": {"expiresAt": {"$numberLong": "5"}}})", "expiresAt"},
      {R"({"$set": {"acquiredAt": null}})", "acquiredAt"},
      {R"({"$set": {"fencingToken": 1.5}})", "fencingToken"},
      {R"({"$set": {"fencingToken": {"$numberLong": "-1"}}})", "fencingToken"},
      {R"({"$set": {"fencingToken": {"$numberInt": "1"}}})", "fencingToken"},
      {R"({"$set": {"fencingToken": {"$numberLong": "9223372036854775807"}}})", "fencingToken"}};
  for (const auto& [change, field] : spoilt) {
    ASSERT_TRUE(peer_.TryAcquire("job", kTtl));
    Expire();
    Change(change);
    const std::string before = Stored();
    const AcquireOp refused = Take();
    EXPECT_EQ(refused.status, OpStatus::kFailed);
    EXPECT_EQ(refused.detail->code, Errc::kMalformed);
    EXPECT_THAT(refused.detail->message, HasSubstr("(" + field + ")")) << change;
    EXPECT_EQ(locks_.Read(key_).status, OpStatus::kFailed);
    EXPECT_EQ(Stored(), before) << change;
    Delete();
  }
}

/// Each field that was read is named by the write.
TEST_F(DistributedLock, AChangeBetweenLookAndWriteIsNoticed) {
  const std::vector<std::string> changes = {
      R"({"$set": {"lockId": "000000000000000000000000000000ff"}})",
      R"({"$set": {"acquiredAt": {"$date": {"$numberLong": "7"}}}})",
      R"({"$set": {"expiresAt": {"$date": {"$numberLong": "7"}}}})",
      R"({"$inc": {"fencingToken": {"$numberLong": "1"}}})"};
  for (const std::string& change : changes) {
    ASSERT_TRUE(peer_.TryAcquire("job", kTtl));
    Expire();
    pool_.Take();
    pool_.BeforeNext("update", [&] { Change(change); });
    const AcquireOp held = Take();
    EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_EQ(pool_.Take(), "findAndModify 2, update 2") << change;
    Delete();
  }
}

TEST_F(DistributedLock, AGrantOfTheirsBetweenLookAndWriteStands) {
  std::optional<DistributedLockPeer::Held> theirs;
  pool_.BeforeNext("update", [&] { theirs = peer_.TryAcquire("job", kTtl); });
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->token, 1);
  EXPECT_TRUE(peer_.Renew("job", *theirs, kTtl));
  // A whole lock of theirs, which leaves nothing.
  peer_.Release("job", *theirs);
  pool_.Take();
  pool_.BeforeNext("update", [&] {
    theirs = peer_.TryAcquire("job", kTtl);
    ASSERT_TRUE(theirs);
    peer_.Release("job", *theirs);
  });
  EXPECT_EQ(Take().status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 2, update 2");
}

TEST_F(DistributedLock, WhatItCannotPromiseIsRefusedBeforeAnythingIsSent) {
  const AcquireOp held = Take();
  const Uuid id = held.grant.lock_id;
  pool_.Take();
  const auto refused = [](const StoreOp& op) {
    return op.status == OpStatus::kFailed && op.detail->code == Errc::kRefused
               ? op.detail->message
               : "not refused: " + Why(op);
  };
  const auto has_no = [](const std::string& feature) {
    return HasSubstr("locks has the layout distributedlock, which has no " + feature);
  };
  EXPECT_THAT(refused(locks_.Share(key_, NewUuid(), 2, kNone)), has_no("shared locks"));
  EXPECT_THAT(refused(locks_.Acquire(key_, NewUuid(), kNone, 5s)), has_no("min_hold"));
  EXPECT_THAT(refused(locks_.Acquire(key_, NewUuid(), Counted(1))), has_no("bodies"));
  EXPECT_THAT(refused(locks_.Acquire(key_, NewUuid())), has_no("bodies"));
  AcquireOp grouped(locks_.collection(), key_);
  grouped.grant.lock_id = NewUuid();
  grouped.grant.ttl = kTtl;
  grouped.grant.group = "g";
  grouped.insert = kNone;
  locks_.Execute(grouped);
  EXPECT_THAT(refused(grouped), has_no("groups"));
  const Key number(5);
  EXPECT_THAT(refused(locks_.Acquire(number, NewUuid(), kNone)), has_no("keys but text"));
  EXPECT_THAT(refused(locks_.Write(WriteKind::kCheckpoint, key_, id, held.version)),
              has_no("bodies"));
  EXPECT_THAT(refused(locks_.Write(WriteKind::kRelease, key_, id, held.version, Counted(1))),
              has_no("bodies"));
  EXPECT_THAT(refused(locks_.Write(WriteKind::kErase, key_, id, held.version)), has_no("erasures"));
  EXPECT_THAT(refused(locks_.Save(SaveKind::kInsert, key_, 0, {}, Counted(1))), has_no("bodies"));
  Store& store = locks_.store();
  const auto thrown = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const StoreException& error) {
      return error.errc() == Errc::kRefused ? error.what() : "another code";
    }
    return "nothing";
  };
  EXPECT_THAT(thrown([&] {
                store.Query(
                    locks_.collection(), Filter(), [](QueryRow&&) { return true; }, 10s);
              }),
              has_no("bodies to search"));
  IndexSpec index;
  index.fields = {"n"};
  EXPECT_THAT(thrown([&] { store.EnsureIndex(locks_.collection(), index); }),
              has_no("indexes over bodies"));
  WriteOp release(locks_.collection(), key_);
  release.lock_id = id;
  StoreOp* const one[] = {&release};
  CommitOp commit;
  commit.ops = one;
  store.Commit(commit, 10s);
  EXPECT_THAT(refused(release), has_no("transactions"));
  EXPECT_EQ(pool_.Take(), "");
}

TEST_F(DistributedLock, TakesFewCommands) {
  pool_.Take();
  const AcquireOp held = Take();
  EXPECT_EQ(pool_.Take(), "findAndModify 1, update 1");
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
  locks_.Renew(key_, held.grant.lock_id);
  EXPECT_EQ(pool_.Take(), "update 1");
  locks_.Write(WriteKind::kRelease, key_, held.grant.lock_id, held.version);
  EXPECT_EQ(pool_.Take(), "delete 1");
}

TEST_F(DistributedLock, RenewsAThousandByOneCommand) {
  std::deque<Key> keys;
  std::deque<RenewOp> renewals;
  std::vector<StoreOp*> ops;
  mongodb::Array documents;
  for (int i = 0; i < 1000; ++i) {
    const Uuid id = NewUuid();
    std::string hex;
    char digits[3];
    for (const std::uint8_t byte : id) {
      std::snprintf(digits, sizeof(digits), "%02x", byte);
      hex += digits;
    }
    keys.emplace_back("job" + std::to_string(i));
    Doc document = DistributedLockPeer::FromJson(
        R"({"acquiredAt": {"$date": "2024-01-01T00:00:00Z"},
            "expiresAt": {"$date": "2200-01-01T00:00:00Z"}, "fencingToken": {"$numberLong": "1"}})");
    document.Add("_id", keys.back()).Add("lockId", hex);
    documents.Add(document);
    RenewOp& op = renewals.emplace_back(locks_.collection(), keys.back());
    op.lock_id = id;
    op.ttl = kTtl;
    ops.push_back(&op);
  }
  Doc insert = Doc::Of("insert", "locks");
  insert.AddArray("documents", documents.doc());
  database_.Run(insert);
  pool_.Take();
  locks_.store().Execute(ops, 10s);
  for (const RenewOp& op : renewals) ASSERT_EQ(op.status, OpStatus::kDone) << Why(op);
  EXPECT_EQ(pool_.Take(), "update 1");
  renewals[500].lock_id = NewUuid();
  locks_.store().Execute(ops, 10s);
  EXPECT_EQ(pool_.Take(), "find 1, update 2");
  for (const RenewOp& op : renewals) {
    ASSERT_EQ(op.status, &op == &renewals[500] ? OpStatus::kLost : OpStatus::kDone) << Why(op);
  }
}

TEST_F(DistributedLock, IsShownBrokenAndPurged) {
  const LockManager manager(OpenMongodbStore(database_.uri(), WithLayout()));
  const LockProvider provider(manager, "locks");
  const LockAdmin admin = provider.Admin();
  ASSERT_TRUE(peer_.TryAcquire("job", kTtl));
  const auto locks = admin.Status();
  ASSERT_EQ(locks.size(), 1U);
  EXPECT_EQ(locks[0].name, "job");
  EXPECT_EQ(locks[0].fence, 1);
  EXPECT_FALSE(locks[0].expired);
  EXPECT_TRUE(locks[0].holder.name.empty());
  EXPECT_LE(locks[0].remaining, kTtl);
  admin.Break("job", "an operator");
  EXPECT_FALSE(Document());
  ASSERT_TRUE(peer_.TryAcquire("job", kTtl));
  EXPECT_EQ(admin.Purge().expired, 0);
  Expire();
  EXPECT_TRUE(admin.Status().at(0).expired);
  EXPECT_EQ(admin.Purge().expired, 1);
  EXPECT_FALSE(Document());
  // Their index, as they make it: theirs finds it there.
  provider.EnsureIndexes();
  EXPECT_NO_THROW(peer_.MakeIndex());
}

/// A named lock from beginning to end, with waiters of this process.
TEST_F(DistributedLock, WaitersOfAProcessHandItOver) {
  const LockManager manager(OpenMongodbStore(database_.uri(), WithLayout()));
  const LockProvider provider(manager, "locks");
  std::optional<HeldLock> first = provider.Acquire("job");
  const std::int64_t fence = first->fence();
  std::jthread second([&] {
    HeldLock lock = provider.Acquire("job", {.wait = kForever});
    EXPECT_GT(lock.fence(), fence);
    lock.Renew();
    lock.Release();
  });
  first->Release();
  second.join();
  EXPECT_FALSE(Document());
  EXPECT_THROW((void)provider.Acquire("job", {.min_hold = 1s}), StoreException);
}

class DistributedLockFaults : public DistributedLock {
 protected:
  /// The command is done, and its answer lost.
  FailPoint Lose(const char* command) {
    return {database_,
            {.name = "no majority in time", .concern_code = 64},
            {.collection = "locks", .times = 1, .commands = {command}}};
  }
  const LockManager manager_{OpenMongodbStore(pool_.get(), database_.name(), WithLayout())};
  const LockProvider provider_{manager_, "locks"};
};

TEST_F(DistributedLockFaults, AGrantInDoubtIsFoundOut) {
  const FailPoint lost = Lose("update");
  HeldLock lock = provider_.Acquire("job");
  EXPECT_EQ(Token(), lock.fence());
  lock.Release();
  EXPECT_FALSE(Document());
}

TEST_F(DistributedLockFaults, ALookWithoutAnAnswerIsAnOutageAndNoDoubt) {
  const FailPoint lost = Lose("findAndModify");
  const AcquireOp op = Take();
  EXPECT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
}

TEST_F(DistributedLockFaults, AReleaseInDoubtIsFoundOut) {
  HeldLock lock = provider_.Acquire("job");
  const FailPoint lost = Lose("delete");
  EXPECT_NO_THROW(lock.Release());
  EXPECT_FALSE(Document());
}

/// No trace is left of either: the same is sent again, and finds nothing.
TEST_F(DistributedLockFaults, ABreakInDoubtIsFoundOut) {
  ASSERT_TRUE(peer_.TryAcquire("job", 60s));
  const FailPoint lost = Lose("delete");
  EXPECT_NO_THROW(provider_.Admin().Break("job"));
  EXPECT_FALSE(Document());
}

TEST_F(DistributedLockFaults, ARenewalInDoubtLeavesTheLockHeld) {
  HeldLock lock = provider_.Acquire("job");
  const FailPoint lost = Lose("update");
  try {
    lock.Renew();
  } catch (const InDoubtException&) {
    // Not known; the keeper goes on.
  }
  EXPECT_TRUE(lock.held());
  lock.Release();
}

TEST_F(DistributedLockFaults, AHandOverInDoubtIsFoundOut) {
  std::optional<HeldLock> first = provider_.Acquire("job");
  pool_.Take();
  std::jthread second([&] {
    HeldLock lock = provider_.Acquire("job", {.wait = kForever});
    lock.Release();
  });
  while (pool_.TakeCountOfRequests() == 0) std::this_thread::yield();  // until it has asked
  const FailPoint lost = Lose("update");
  EXPECT_NO_THROW(first->Release());
  second.join();
  EXPECT_FALSE(Document());
}

TEST(DistributedLockOptions, AreInTheUrlToo) {
  Database database(SetUri());
  DistributedLockPeer peer(SetUri(), database.name(), "locks");
  ASSERT_TRUE(peer.TryAcquire("job", kTtl));
  const std::string uri = database.uri();
  const std::string sign = uri.find('?') == uri.npos ? "?" : "&";
  const LockManager manager(OpenStore(uri + sign + "doclockLayout=locks:distributedlock"));
  EXPECT_FALSE(LockProvider(manager, "locks").TryAcquire("job"));
  EXPECT_THROW(LockProvider(LockManager(OpenStore(uri)), "locks"), StoreException)
      << "without the layout";
  for (const char* const bad :
       {"doclockLayout=", "doclockLayout=locks", "doclockLayout=locks:other",
        "doclockLayout=locks:distributedlock&doclockLayout=locks:distributedlock",
        "doclockLayout=.:distributedlock"}) {
    EXPECT_THROW(OpenStore(uri + sign + bad), std::invalid_argument) << bad;
  }
  MongodbStoreOptions options;
  options.layouts["locks"] = "other";
  EXPECT_THROW(OpenMongodbStore(uri, options), std::invalid_argument);
}

TEST(DistributedLockOptions, ExcludeNamesOfFieldsAndALoneServer) {
  Database database(SetUri());
  const auto store = OpenMongodbStore(database.uri(), WithLayout());
  LockFieldNames names;
  names.id = "other";
  EXPECT_THROW(store->Open("locks", names, kTtl), std::invalid_argument);
  EXPECT_NO_THROW(store->Open("things", names, kTtl));
  Database lone(StandaloneUri());
  const auto alone = OpenMongodbStore(lone.uri(), WithLayout());
  EXPECT_THROW(alone->Open("locks", {}, kTtl), StoreException);
}

}  // namespace
}  // namespace doclock::mongo_test
