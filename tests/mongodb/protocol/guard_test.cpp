// What others write between the look and the write of a change that is decided here: the write
// matches only what the decision rested on. Each condition has a test that fails without it.

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "mongodb/support/client.h"
#include "mongodb/support/monitored_pool.h"
#include "mongodb/support/raw_documents.h"

namespace doclock::mongo_test {
namespace {

class MongoGuard : public ::testing::Test {
 protected:
  void SetUp() override {
    held_ = one_.Acquire(key_, NewUuid(), Counted(1));
    ASSERT_EQ(held_.status, OpStatus::kDone) << Why(held_);
    pool_.Take();
  }

  void Enter(const Uuid& id) { ASSERT_TRUE(other_.Wait(key_, id).result.queued); }
  WriteOp Leave(Client& client, const Uuid& id) { return client.Leave(key_, id); }
  void Change(const std::string& json) { Change(*mongo_docs_test::Parse(json)); }
  void Change(const bson_t& update) {
    mongodb::Doc change;
    bson_concat(change.get(), &update);
    database_.Update("things", mongodb::Doc::Of("_id", key_), change);
  }
  int Waiting() { return other_.Locks({.key = key_, .unheld = true}).at(0).waiting; }
  bool Has(const std::string& field) {
    return database_.Stored(mongodb::Doc::Of("_id", key_)).find(field) != std::string::npos;
  }
  std::int64_t Purge() { return one_.Purge(100); }

  Database database_{SetUri()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client one_{OpenMongodbStore(pool_.get(), database_.name())};
  Client other_{OpenMongodbStore(database_.uri())};
  const Key key_{"a"};
  AcquireOp held_{one_.collection(), key_};
};

TEST_F(MongoGuard, AWaiterThatIsGrantedTheLockWhileItLeavesPassesItOn) {
  const Uuid first = NewUuid(), second = NewUuid();
  Enter(first);
  Enter(second);
  pool_.BeforeNext("update", [&] { other_.Release(key_, held_, Counted(2)); });
  const WriteOp left = Leave(one_, first);
  EXPECT_EQ(left.status, OpStatus::kDone) << Why(left);
  EXPECT_EQ(pool_.Take(), "find 2, update 2");
  EXPECT_EQ(other_.Read(key_).result.lock_id, second);
  EXPECT_FALSE(Has("lockQueue"));
}

TEST_F(MongoGuard, WaitersThatLeaveAtOnceMindNoHandOver) {
  Enter(NewUuid());
  const Uuid id = NewUuid();
  Enter(id);
  Enter(NewUuid());
  pool_.BeforeNext("update", [&] {
    other_.Release(key_, held_, Counted(2));
    Enter(NewUuid());
  });
  EXPECT_EQ(Leave(one_, id).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "find 1, update 1");
  EXPECT_EQ(Waiting(), 2);
}

TEST_F(MongoGuard, AWaiterThatLeavesALockThatIsFreedMeanwhileLooksAgain) {
  const Uuid share = NewUuid(), id = NewUuid();
  ASSERT_TRUE(
      other_
          .Acquire(key_,
                   {.id = share, .mode = LockMode::kShared, .max_holders = 2, .queue_for = kTtl})
          .result.queued);
  Enter(id);
  Enter(NewUuid());
  // The lock is free for the share that is first.
  pool_.BeforeNext("update", [&] { other_.Release(key_, held_, Counted(2)); });
  EXPECT_EQ(Leave(one_, id).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "find 2, update 2");
  EXPECT_EQ(Waiting(), 2);
}

TEST_F(MongoGuard, TheLastWaitersThatLeaveAtOnceLeaveNoQueue) {
  const Uuid first = NewUuid(), second = NewUuid();
  Enter(first);
  Enter(second);
  pool_.BeforeNext("update", [&] { EXPECT_EQ(Leave(other_, second).status, OpStatus::kDone); });
  EXPECT_EQ(Leave(one_, first).status, OpStatus::kDone);
  EXPECT_FALSE(Has("lockQueue"));
}

TEST_F(MongoGuard, AnEntryThatWasOverAndIsRefreshedMeanwhileStays) {
  const Uuid late = NewUuid(), id = NewUuid();
  Enter(late);
  Enter(id);
  Enter(NewUuid());
  Change(R"({"$set": {"lockQueue.0.until": {"$date": {"$numberLong": "1000"}}}})");
  pool_.BeforeNext("update", [&] { Enter(late); });
  EXPECT_EQ(Leave(one_, id).status, OpStatus::kDone);
  EXPECT_EQ(Waiting(), 2);
}

TEST_F(MongoGuard, AnAttemptThatEntersMeanwhileIsGrantedWhatIsGivenUp) {
  const Uuid id = NewUuid();
  pool_.BeforeNext("update", [&] { Enter(id); });
  EXPECT_EQ(Leave(one_, held_.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(other_.Read(key_).result.lock_id, id);
}

TEST_F(MongoGuard, TheLastSharesThatLeaveAtOnceLeaveAFreeLock) {
  Leave(one_, held_.request.grant.lock_id);
  const Uuid first = NewUuid(), second = NewUuid();
  ASSERT_EQ(other_.Share(key_, first).status, OpStatus::kDone);
  ASSERT_EQ(other_.Share(key_, second).status, OpStatus::kDone);
  pool_.BeforeNext("update",
                   [&] { EXPECT_EQ(other_.ReleaseShare(key_, second).status, OpStatus::kDone); });
  EXPECT_EQ(Leave(one_, first).status, OpStatus::kDone);
  EXPECT_TRUE(other_.Read(key_).result.lock_id.is_nil());
  EXPECT_FALSE(Has("lockReaders"));
}

TEST_F(MongoGuard, AShareThatLeavesLeavesItsMarkAndTheLeaseOfTheOthers) {
  Leave(one_, held_.request.grant.lock_id);
  const Uuid longer = NewUuid();
  ASSERT_EQ(
      other_.Acquire(key_, {.id = longer, .ttl = 10 * kTtl, .mode = LockMode::kShared}).status,
      OpStatus::kDone);
  ASSERT_EQ(other_.Share(key_, NewUuid()).status, OpStatus::kDone);
  EXPECT_EQ(Leave(one_, longer).status, OpStatus::kDone);
  const ReadOp read = other_.Read(key_);
  EXPECT_TRUE(read.result.locked);
  EXPECT_LE(read.result.remaining, kTtl);
  EXPECT_EQ(read.result.released, longer) << "which wakes those who wait for any share to end";
}

TEST_F(MongoGuard, APurgeLeavesALockThatIsTakenMeanwhile) {
  one_.Expire(key_);
  const Uuid id = NewUuid();
  pool_.BeforeNext("update", [&] { EXPECT_EQ(other_.Acquire(key_, id).status, OpStatus::kDone); });
  EXPECT_EQ(Purge(), 0);
  EXPECT_EQ(other_.Read(key_).result.lock_id, id);
}

TEST_F(MongoGuard, APurgeCountsOnlyWhatItHasCleared) {
  const Key b("b"), c("c");
  one_.Acquire(b, NewUuid(), Counted(1));
  one_.Acquire(c, NewUuid(), Counted(1));
  for (const Key& key : {key_, b, c}) one_.Expire(key);
  pool_.BeforeNext("update",
                   [&] { EXPECT_EQ(other_.Acquire(b, NewUuid()).status, OpStatus::kDone); });
  EXPECT_EQ(Purge(), 2);
  EXPECT_TRUE(other_.Read(key_).result.lock_id.is_nil());
  EXPECT_TRUE(other_.Read(b).result.locked);
}

/// Saves over a lock that is over, and what another client does between the look and the write.
class MongoGuardOfSave : public MongoGuard {
 protected:
  void SetUp() override {
    MongoGuard::SetUp();
    one_.Expire(key_);
    seen_ = one_.Read(key_);
    pool_.Take();
  }
  SaveOp Save(SaveKind kind) {
    return one_.Save(kind, key_, seen_.result.version, seen_.result.born, Counted(2));
  }
  void BeforeTheSecond(const char* command, const std::function<void()>& then) {
    pool_.BeforeNext("find", [=, this] { pool_.BeforeNext(command, then); });
  }

  ReadOp seen_{one_.collection(), key_};
};

TEST_F(MongoGuardOfSave, IsDoneByThree) {
  const SaveOp saved = Save(SaveKind::kReplace);
  EXPECT_EQ(saved.status, OpStatus::kDone) << Why(saved);
  EXPECT_EQ(pool_.Take(), "find 1, update 2");
  const ReadOp now = other_.Read(key_);
  EXPECT_EQ(now.result.version, saved.result.version);
  EXPECT_EQ(now.result.body.json(), Counted(2).json());
  EXPECT_EQ(now.result.released, saved.request.write_id);
  EXPECT_TRUE(now.result.lock_id.is_nil());
}

TEST_F(MongoGuardOfSave, LeavesALockThatIsTakenMeanwhile) {
  const Uuid id = NewUuid();
  BeforeTheSecond("update", [&] { EXPECT_EQ(other_.Acquire(key_, id).status, OpStatus::kDone); });
  EXPECT_EQ(Save(SaveKind::kReplace).status, OpStatus::kBusy);
  EXPECT_EQ(other_.Read(key_).result.lock_id, id);
}

TEST_F(MongoGuardOfSave, ErasesNoDocumentThatIsTakenMeanwhile) {
  const Uuid id = NewUuid();
  BeforeTheSecond("delete", [&] { EXPECT_EQ(other_.Acquire(key_, id).status, OpStatus::kDone); });
  EXPECT_EQ(Save(SaveKind::kErase).status, OpStatus::kBusy);
  EXPECT_EQ(other_.Read(key_).result.lock_id, id);
}

TEST_F(MongoGuardOfSave, LeavesToOtherProgramsWhatItHasNotChanged) {
  Change(R"({"$set": {"theirs": 1}})");
  BeforeTheSecond("update", [&] { Change(R"({"$set": {"theirs": 2}})"); });
  SaveOp op = one_.SaveOf(SaveKind::kReplace, key_, seen_.result.version, seen_.result.born);
  op.request.base = seen_.result.body;
  op.request.body = Counted(2);
  one_.Execute(op);
  ASSERT_EQ(op.status, OpStatus::kDone) << Why(op);
  EXPECT_EQ(other_.Read(key_).result.body.json(), (nlohmann::json{{"n", 2}, {"theirs", 2}}));
}

TEST_F(MongoGuardOfSave, OfABatchOnlyWhatIsTakenMeanwhileIsDecidedAnew) {
  const Key b("b"), c("c");
  const AcquireOp second = one_.Acquire(b, NewUuid(), Counted(1));
  const AcquireOp third = one_.Acquire(c, NewUuid(), Counted(1));
  for (const Key& key : {b, c}) one_.Expire(key);
  Batch calls(one_);
  SaveOp& saved = calls.Save(SaveKind::kReplace, "a", held_, Counted(2));
  SaveOp& taken = calls.Save(SaveKind::kReplace, "b", second, Counted(2));
  SaveOp& too = calls.Save(SaveKind::kReplace, "c", third, Counted(2));
  // The end of its lease was a write.
  for (SaveOp* const save : {&saved, &taken, &too}) ++save->request.expected;
  pool_.Take();
  pool_.BeforeNext("find", [&] {
    BeforeTheSecond("update",
                    [&] { EXPECT_EQ(other_.Acquire(b, NewUuid()).status, OpStatus::kDone); });
  });
  calls.Execute(10s);
  EXPECT_EQ(saved.status, OpStatus::kDone) << Why(saved);
  EXPECT_EQ(taken.status, OpStatus::kBusy) << Why(taken);
  EXPECT_EQ(too.status, OpStatus::kDone) << Why(too);
  EXPECT_EQ(pool_.Take(), "find 4, update 2");
  EXPECT_EQ(other_.Read(c).result.body.json(), Counted(2).json());
}

TEST_F(MongoGuardOfSave, WhatOthersEraseMeanwhileABatchHasNotErased) {
  const Key b("b");
  const AcquireOp second = one_.Acquire(b, NewUuid(), Counted(1));
  one_.Expire(b);
  Batch calls(one_);
  SaveOp& one = calls.Save(SaveKind::kErase, "a", held_, {});
  SaveOp& two = calls.Save(SaveKind::kErase, "b", second, {});
  // The end of its lease was a write.
  for (SaveOp* const save : {&one, &two}) ++save->request.expected;
  pool_.BeforeNext("find", [&] {
    BeforeTheSecond("delete", [&] {
      for (const Key& key : {key_, b}) other_.Save(SaveKind::kErase, key, kAnyVersion);
    });
  });
  calls.Execute(10s);
  EXPECT_EQ(one.status, OpStatus::kMissing) << Why(one);
  EXPECT_EQ(two.status, OpStatus::kMissing) << Why(two);
}

TEST_F(MongoGuardOfSave, RefusalsOfABatchShareALook) {
  const Key b("b");
  const AcquireOp other = one_.Acquire(b, NewUuid(), Counted(1));
  one_.Expire(b);
  Batch calls(one_);
  // The end of its lease was a write.
  const SaveOp& first = calls.Save(SaveKind::kReplace, "a", held_, Counted(2));
  const SaveOp& second = calls.Save(SaveKind::kReplace, "b", other, Counted(2));
  pool_.Take();
  calls.Execute(10s);
  EXPECT_EQ(first.status, OpStatus::kConflict) << Why(first);
  EXPECT_EQ(second.status, OpStatus::kConflict) << Why(second);
  EXPECT_EQ(pool_.Take(), "find 2, update 1");
}

TEST_F(MongoGuardOfSave, InsertsNothingBesideADocumentThatComesMeanwhile) {
  const auto erase = [&] { other_.Save(SaveKind::kErase, key_, kAnyVersion); };
  pool_.BeforeNext("find", [&] {
    erase();
    pool_.BeforeNext("insert", [&] { other_.Save(SaveKind::kInsert, key_, 0, {}, Counted(3)); });
  });
  EXPECT_EQ(Save(SaveKind::kInsert).status, OpStatus::kConflict);
  EXPECT_EQ(other_.Read(key_).result.body.json(), Counted(3).json());
}

/// Its first statement does not match, because of another program; the look finds it as it was.
class MongoGuardOfWrite : public MongoGuard {
 protected:
  WriteOp Write(WriteKind kind, const char* command, std::int64_t expected = 1,
                const GrantRequest* next = nullptr) {
    pool_.BeforeNext(command, [&] {
      Change(R"({"$rename": {"lockId": "gone"}})");
      pool_.BeforeNext("find", [&] { Change(R"({"$rename": {"gone": "lockId"}})"); });
    });
    WriteOp op = one_.WriteOf(key_, kind, held_.request.grant.lock_id,
                              {.expected = expected, .ttl = 10 * kTtl, .next = next});
    if (kind != WriteKind::kErase) op.request.body = Counted(2);
    one_.Execute(op);
    EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
    EXPECT_EQ(op.result.version, 2);
    return op;
  }
  void ExpectWritten() {
    const ReadOp read = other_.Read(key_);
    EXPECT_EQ(read.result.version, 2);
    EXPECT_EQ(read.result.body.json(), Counted(2).json());
  }
};

TEST_F(MongoGuardOfWrite, ACheckpointIsWrittenAndRenews) {
  Write(WriteKind::kCheckpoint, "update");
  ExpectWritten();
  const ReadOp read = other_.Read(key_);
  EXPECT_EQ(read.result.lock_id, held_.request.grant.lock_id);
  EXPECT_GT(read.result.remaining, kTtl);
}

TEST_F(MongoGuardOfWrite, AHandOverGrantsTheNext) {
  GrantRequest next;
  next.lock_id = NewUuid();
  next.ttl = kTtl;
  next.min_hold = kTtl;
  Write(WriteKind::kRelease, "update", 1, &next);
  ExpectWritten();
  const ReadOp read = other_.Read(key_);
  EXPECT_EQ(read.result.lock_id, next.lock_id);
  EXPECT_TRUE(read.result.locked);
  EXPECT_EQ(read.result.released, held_.request.grant.lock_id);
  EXPECT_TRUE(Has("lockClosed"));
}

TEST_F(MongoGuardOfWrite, AReleaseByValueIsWritten) {
  Write(WriteKind::kRelease, "findAndModify", kAnyVersion);
  ExpectWritten();
  EXPECT_TRUE(other_.Read(key_).result.lock_id.is_nil());
}

TEST_F(MongoGuardOfWrite, AnErasureErases) {
  Write(WriteKind::kErase, "delete");
  EXPECT_EQ(other_.Read(key_).status, OpStatus::kMissing);
}

/// What another program does to one field.
struct Touch {
  const char* name;
  std::string update;
  OpStatus status = OpStatus::kDone;
};
void PrintTo(const Touch& touch, std::ostream* out) { *out << touch.name; }

class MongoGuardOf : public MongoGuard, public ::testing::WithParamInterface<Touch> {};

TEST_P(MongoGuardOf, TheFieldIsNamed) {
  pool_.BeforeNext("update", [&] { Change(GetParam().update); });
  const WriteOp left = Leave(one_, held_.request.grant.lock_id);
  EXPECT_EQ(left.status, GetParam().status) << Why(left);
  const bool done = GetParam().status == OpStatus::kDone;
  EXPECT_EQ(pool_.Take(), done ? "find 2, update 2" : "find 2, update 1");
  EXPECT_TRUE(!done || left.result.version == other_.Read(key_).result.version)
      << left.result.version;
}

const char* const kAnId = R"({"$binary": {"base64": "AAAAAAAAQACAAAAAAAAAAQ==", "subType": "04"}})";
std::string SetTo(const char* field, const std::string& value) {
  return std::string(R"({"$set": {")") + field + R"(": )" + value + "}}";
}

INSTANTIATE_TEST_SUITE_P(
    Lock, MongoGuardOf,
    ::testing::Values(Touch{"Id", SetTo("lockId", kAnId), OpStatus::kLost},
                      Touch{"Time", SetTo("lockTime", R"({"$date": {"$numberLong": "1000"}})")},
                      Touch{"Ttl", SetTo("lockTtl", R"({"$numberLong": "1000"})")},
                      Touch{"Version", SetTo("lockVersion", R"({"$numberLong": "7"})")},
                      Touch{"Born", SetTo("lockBorn", kAnId)},
                      Touch{"Closed", SetTo("lockClosed", R"({"$date": {"$numberLong": "1000"}})")},
                      Touch{"Readers", SetTo("lockReaders", "[]")},
                      Touch{"Queue", SetTo("lockQueue", "[]")},
                      Touch{"NullForMissing", SetTo("lockClosed", "null")},
                      Touch{"AnotherNumber",
                            R"({"0": {"$set": {"lockTtl": {"$toInt": "$lockTtl"}}}})"},
                      Touch{"AnArrayWithTheValue",
                            R"({"0": {"$set": {"lockBorn": ["$lockBorn"]}}})", OpStatus::kFailed}),
    [](const auto& touch) { return touch.param.name; });

}  // namespace
}  // namespace doclock::mongo_test
