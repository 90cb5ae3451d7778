// Commits that fail half-way: each operation gets a true answer.

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "doclock/lock_manager.h"
#include "doclock/lock_provider.h"
#include "doclock/testing/intervene.h"
#include "doclock/testing/manual_clock.h"
#include "sqlite/db/faulty_files.h"
#include "sqlite/db/lying_commits.h"
#include "sqlite/support/harness.h"

namespace doclock::sqlite_test {
namespace {

class SqliteCommit : public SqliteTest {
 protected:
  void TearDown() override { FaultyFiles::failing_syncs = FaultyFiles::failing_writes = 0; }

  FaultyFiles files_;
  LyingCommits lying_commits_;
};

/// A fault that cannot be overtaken while it lasts.
constexpr int kAll = 1'000;

using Ids = std::set<Uuid>;

/// The ids of live shares.
Ids SharesOf(const Client& client) {
  Ids ids;
  for (const LockRow& row : client.store().ListLocks(client.collection(), {}, "", kBudget).rows) {
    if (row.live && row.mode == LockMode::kShared) ids.insert(row.lock_id);
  }
  return ids;
}

SaveOp Erase(Client& client, const Key& key) {
  const ReadOp read = client.Read(key);
  SaveOp op(client.collection(), key);
  op.save = SaveKind::kErase;
  op.expected = read.version;
  op.born = read.born;
  op.write_id = NewUuid();
  client.Execute(op);
  return op;
}

void ExpectUnavailable(const StoreOp& op) {
  ASSERT_EQ(op.status, OpStatus::kFailed) << Why(op);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
}

TEST_F(SqliteCommit, AFailedFlushThatWasOvertakenByAnotherCommitIsAFailure) {
  Client client(file_);
  client.Insert("1", R"({"a":1})");
  FaultyFiles::failing_syncs = 1;
  const AcquireOp refused = client.Acquire("1");
  ASSERT_EQ(refused.status, OpStatus::kFailed) << Why(refused);
  EXPECT_EQ(refused.detail->code, Errc::kUnavailable);
  EXPECT_TRUE(client.Read("1").lock_id.is_nil());
  EXPECT_EQ(Client(file_).Read("1").version, 1);
  const AcquireOp held = client.Acquire("1");
  ASSERT_EQ(held.status, OpStatus::kDone) << "the cause is gone";
  EXPECT_EQ(held.version, 2);
}

/// The frames may be found in the log after a crash.
TEST_F(SqliteCommit, AFailedFlushThatNothingCouldOvertakeIsDoubt) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  FaultyFiles::failing_syncs = kAll;
  const WriteOp release = client.Release("1", held, Body::FromText(R"({"a":2})"));
  EXPECT_EQ(release.status, OpStatus::kInDoubt) << Why(release);
  FaultyFiles::failing_syncs = 0;
  EXPECT_EQ(client.Release("1", held, Body::FromText(R"({"a":2})")).status, OpStatus::kDone);
  EXPECT_EQ(client.Read("1").body.json().at("a"), 2);
}

TEST_F(SqliteCommit, AFullDiskAtTheCommitIsAFailureOfAllThatWereInIt) {
  Client client(file_);
  client.Insert("1");
  client.Insert("2");
  const Key one("1"), two("2"), three("3");
  AcquireOp first(client.collection(), one), second(client.collection(), two);
  ReadOp third(client.collection(), three);
  first.grant.lock_id = NewUuid();
  second.grant.lock_id = NewUuid();
  first.grant.ttl = second.grant.ttl = 30s;
  StoreOp* const all[] = {&first, &second, &third};
  FaultyFiles::failing_writes = 1;
  client.store().Execute(all, kBudget);
  EXPECT_EQ(first.status, OpStatus::kFailed) << Why(first);
  EXPECT_EQ(second.status, OpStatus::kFailed) << Why(second);
  EXPECT_EQ(third.status, OpStatus::kMissing) << "what was seen is true all the same";
  EXPECT_EQ(client.Acquire("1").version, 2);
  EXPECT_EQ(client.Acquire("2").version, 2);
}

/// A quota, and the limit of a file's size, are as a full disk is.
TEST_F(SqliteCommit, NoRoomForTheLogIsAFailureWhateverTheSystemCallsIt) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  const auto release = [&] { return client.Release("1", held, Body::FromText(R"({"a":2})")); };
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    FaultyFiles::error = error;
    FaultyFiles::failing_writes = kAll;
    ExpectUnavailable(release());
    FaultyFiles::failing_writes = 0;
    FaultyFiles::failing_syncs = kAll;
    EXPECT_EQ(release().status, OpStatus::kInDoubt) << "all of it was written";
    FaultyFiles::failing_syncs = 0;
    EXPECT_EQ(client.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
  }
  FaultyFiles::error = EIO;
  FaultyFiles::failing_writes = kAll;
  EXPECT_EQ(release().status, OpStatus::kInDoubt);
  FaultyFiles::failing_writes = 0;
  EXPECT_EQ(release().status, OpStatus::kDone);
}

/// Whatever an attempt decided before it failed, it has made nothing.
TEST_F(SqliteCommit, AWaitForADocumentThatIsNotThereOutlastsAFullDisk) {
  const auto store = OpenSqliteStore(file_);
  LockManager manager(store);
  LockProvider names(manager);
  names.Acquire("known").Release();
  FaultyFiles::failing_writes = 2;
  const HeldLock lock = names.Acquire("new", {.wait = 20s});
  EXPECT_TRUE(lock.held());
  EXPECT_EQ(FaultyFiles::failing_writes, 0);
}

/// A waiter's attempts have one id: the row may show it of a grant that is over.
TEST_F(SqliteCommit, AnEarlierGrantOfAWaiterIsNotTakenForTheOneThatFailed) {
  Client client(file_);
  client.Insert("1");
  const Uuid id = NewUuid();
  ASSERT_EQ(client.Queue("1", id).status, OpStatus::kDone);
  testing::ExpireLock(client.store(), "things", "1");
  FaultyFiles::failing_writes = 1;
  const AcquireOp again = client.Queue("1", id);
  EXPECT_EQ(again.status, OpStatus::kFailed) << Why(again);
  EXPECT_FALSE(client.Read("1").locked);
  EXPECT_EQ(client.Queue("1", id).version, again.version);
}

/// A search that broke off has not found out that nothing is free.
TEST_F(SqliteCommit, ASearchThatBreaksOffIsAFailure) {
  Client client(file_), others(file_);
  client.Insert("1", R"({"a":1})");
  for (const char* key : {"2", "3", "4"}) {
    others.Insert(key, R"({"a":2})");  // pages that the client has to read from the log
    Key found;
    AcquireOp next(client.collection(), found);
    next.grant.lock_id = NewUuid();
    next.grant.ttl = 30s;
    FaultyFiles::failing_reads = kAll;
    client.store().AcquireNext(Filter().Equal("a", 2), next, found, kBudget);
    EXPECT_LT(FaultyFiles::failing_reads, kAll) << "nothing failed";
    FaultyFiles::failing_reads = 0;
    ExpectUnavailable(next);
    EXPECT_TRUE(others.Read(key).lock_id.is_nil());
  }
}

TEST_F(SqliteCommit, RenewalsAfterAFailedCommitAreStillRight) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  FaultyFiles::failing_syncs = 1;
  EXPECT_NE(client.Renew("1", held.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(client.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.Release("1", held).status, OpStatus::kDone);
}

TEST_F(SqliteCommit, ARenewalWhoseCommitFailedChangesNothing) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  for (int i = 0; i < 3; ++i) {  // the first renewal writes other rows than those that follow
    FaultyFiles::failing_syncs = 1;
    ExpectUnavailable(client.Renew("1", held.grant.lock_id, 1h));
    EXPECT_LE(client.Read("1").remaining, 30s);
    EXPECT_EQ(client.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
  }
}

TEST_F(SqliteCommit, WhatTookPlaceIsDoneWhateverTheCommitSaid) {
  Client client(file_);
  client.Insert("1");
  lying_commits_.Next(1);
  const AcquireOp held = client.Acquire("1");
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_EQ(client.Read("1").lock_id, held.grant.lock_id);
  for (int i = 0; i < 3; ++i) {  // the first renewal writes other rows than those that follow
    lying_commits_.Next(1);
    EXPECT_EQ(client.Renew("1", held.grant.lock_id, 1h).status, OpStatus::kDone);
    EXPECT_GT(client.Read("1").remaining, 59min);
  }
  lying_commits_.Next(1);
  EXPECT_EQ(client.Release("1", held, Body::FromText(R"({"a":2})")).status, OpStatus::kDone);
  EXPECT_EQ(client.Read("1").body.json().at("a"), 2);
  lying_commits_.Next(1);
  const SaveOp made = client.Insert("2");
  EXPECT_EQ(made.status, OpStatus::kDone) << Why(made);
  lying_commits_.Next(1);
  const SaveOp erased = Erase(client, "2");
  EXPECT_EQ(erased.status, OpStatus::kDone) << Why(erased);
  EXPECT_EQ(client.Read("2").status, OpStatus::kMissing);
}

TEST_F(SqliteCommit, AnOptimisticWriteWhoseCommitFailedIsNotThere) {
  Client client(file_);
  FaultyFiles::failing_syncs = 1;
  ExpectUnavailable(client.Insert("1"));
  EXPECT_EQ(client.Read("1").status, OpStatus::kMissing);
  client.Insert("1");
  FaultyFiles::failing_syncs = 1;
  ExpectUnavailable(Erase(client, "1"));
  EXPECT_EQ(client.Read("1").status, OpStatus::kDone);
  EXPECT_EQ(Erase(client, "1").status, OpStatus::kDone);
}

/// At one moment: only its version tells it from what was stored before.
TEST_F(SqliteCommit, ACheckpointWhoseCommitFailedIsNotTakenForDone) {
  Client client(file_, {.clock = std::make_shared<testing::ManualClock>()});
  const AcquireOp held = client.Create("1");
  const auto checkpoint = [&] {
    return client.Write(WriteKind::kCheckpoint, "1", held.grant.lock_id,
                        Body::FromText(R"({"a":2})"), held.version);
  };
  FaultyFiles::failing_writes = 1;
  ExpectUnavailable(checkpoint());
  EXPECT_EQ(client.Read("1").version, held.version);
  EXPECT_EQ(checkpoint().status, OpStatus::kDone);
}

TEST_F(SqliteCommit, TheOutcomeOfATransactionIsThatOfAllItsDocuments) {
  Client client(file_);
  const Key held_key("held"), fresh("fresh"), other("other");
  const AcquireOp held = client.Create(held_key);
  WriteOp release(client.collection(), held_key);
  release.lock_id = held.grant.lock_id;
  release.expected = held.version;
  release.body = Body::FromText(R"({"a":2})");
  SaveOp first(client.collection(), fresh), second(client.collection(), other);
  for (SaveOp* const insert : {&first, &second}) {
    insert->save = SaveKind::kInsert;
    insert->write_id = NewUuid();
    insert->body = Body::FromText("{}");
  }
  StoreOp* const ops[] = {&first, &release, &second};
  CommitOp commit{.ops = ops};
  const auto expect = [&](OpStatus status, bool stored) {
    client.store().Commit(commit, kBudget);
    for (const StoreOp* const op : ops) EXPECT_EQ(op->status, status) << Why(*op);
    FaultyFiles::failing_syncs = 0;
    EXPECT_EQ(client.Read(fresh).status, stored ? OpStatus::kDone : OpStatus::kMissing);
    EXPECT_EQ(client.Read(other).status, stored ? OpStatus::kDone : OpStatus::kMissing);
    EXPECT_EQ(client.Read(held_key).locked, !stored);
  };
  FaultyFiles::failing_writes = 1;
  expect(OpStatus::kFailed, false);
  FaultyFiles::failing_syncs = 1;
  expect(OpStatus::kFailed, false);
  FaultyFiles::failing_syncs = kAll;
  expect(OpStatus::kInDoubt, false);
  lying_commits_.Next(1);
  expect(OpStatus::kDone, true);
  EXPECT_EQ(client.Read(held_key).body.json().at("a"), 2);
}

/// Its row in the table of owners went with the transaction.
TEST_F(SqliteCommit, AnOwnerWhoseFirstCommitFailedIsKnownByItsNext) {
  Client client(file_);
  client.Insert("1");
  const auto acquire = [&] {
    const Key key("1");
    LockHolder owner;
    owner.name = "worker";
    AcquireOp op(client.collection(), key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = 30s;
    op.grant.owner = std::make_shared<const LockHolder>(std::move(owner));
    client.Execute(op);
    return op;
  };
  FaultyFiles::failing_syncs = 1;
  ExpectUnavailable(acquire());
  ASSERT_EQ(acquire().status, OpStatus::kDone);
  const AcquireOp busy = Client(file_).Acquire("1");
  ASSERT_EQ(busy.status, OpStatus::kBusy) << Why(busy);
  EXPECT_EQ(busy.detail->holder.name, "worker");
}

TEST_F(SqliteCommit, AShareWhoseCommitFailedIsNotThere) {
  Client client(file_);
  client.Insert("1");
  FaultyFiles::failing_syncs = 1;
  ExpectUnavailable(client.Share("1"));
  EXPECT_TRUE(client.Read("1").lock_id.is_nil());
  const AcquireOp first = client.Share("1", 2);
  FaultyFiles::failing_syncs = 1;
  ExpectUnavailable(client.Share("1", 2));
  EXPECT_EQ(SharesOf(client), Ids{first.grant.lock_id});
  const AcquireOp second = client.Share("1", 2);
  ASSERT_EQ(second.status, OpStatus::kDone) << "there is room for it";
  EXPECT_EQ(second.version, first.version + 1);
}

TEST_F(SqliteCommit, AShareThatMadeTheDocumentIsAllOrNothing) {
  Client client(file_);
  FaultyFiles::failing_syncs = 1;
  ExpectUnavailable(client.Share("1"));
  EXPECT_EQ(client.Read("1").status, OpStatus::kMissing);
  lying_commits_.Next(1);
  const AcquireOp share = client.Share("1");
  ASSERT_EQ(share.status, OpStatus::kDone) << Why(share);
  EXPECT_EQ(SharesOf(client), Ids{share.grant.lock_id});
}

TEST_F(SqliteCommit, ARenewalOfAShareWhoseCommitFailedChangesNothing) {
  Client client(file_);
  const AcquireOp share = client.Share("1");
  for (int i = 0; i < 3; ++i) {  // the first renewal writes other rows than those that follow
    FaultyFiles::failing_syncs = 1;
    ExpectUnavailable(client.RenewShare("1", share.grant.lock_id, 1h));
    EXPECT_LE(client.Read("1").remaining, 30s);
    EXPECT_EQ(client.RenewShare("1", share.grant.lock_id).status, OpStatus::kDone);
  }
  EXPECT_EQ(SharesOf(client), Ids{share.grant.lock_id});
}

TEST_F(SqliteCommit, AShareWhoseReleaseFailedIsStillHeld) {
  Client client(file_);
  const AcquireOp first = client.Share("1"), last = client.Share("1");
  FaultyFiles::failing_syncs = 1;
  ExpectUnavailable(client.ReleaseShare("1", first.grant.lock_id));
  EXPECT_EQ(SharesOf(client), (Ids{first.grant.lock_id, last.grant.lock_id}));
  EXPECT_EQ(client.ReleaseShare("1", first.grant.lock_id).status, OpStatus::kDone);
  FaultyFiles::failing_syncs = 1;
  ExpectUnavailable(client.ReleaseShare("1", last.grant.lock_id));
  EXPECT_EQ(SharesOf(client), Ids{last.grant.lock_id});
  EXPECT_EQ(client.RenewShare("1", last.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.ReleaseShare("1", last.grant.lock_id).status, OpStatus::kDone);
  EXPECT_TRUE(client.Read("1").lock_id.is_nil());
}

TEST_F(SqliteCommit, WhatNothingCouldOvertakeIsDoubtOfSharesToo) {
  Client client(file_);
  const AcquireOp share = client.Share("1");
  FaultyFiles::failing_syncs = kAll;
  EXPECT_EQ(client.Share("1").status, OpStatus::kInDoubt);
  EXPECT_EQ(client.RenewShare("1", share.grant.lock_id, 1h).status, OpStatus::kInDoubt);
  EXPECT_EQ(client.ReleaseShare("1", share.grant.lock_id).status, OpStatus::kInDoubt);
  FaultyFiles::failing_syncs = 0;
  EXPECT_EQ(SharesOf(client), Ids{share.grant.lock_id});
  EXPECT_EQ(client.ReleaseShare("1", share.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.ReleaseShare("1", share.grant.lock_id).status, OpStatus::kLost);
}

TEST_F(SqliteCommit, WhatTookPlaceOfSharesIsDoneWhateverTheCommitSaid) {
  Client client(file_);
  client.Insert("1");
  Ids ids;
  for (int i = 0; i < 2; ++i) {
    lying_commits_.Next(1);
    const AcquireOp share = client.Share("1");
    ASSERT_EQ(share.status, OpStatus::kDone) << Why(share);
    ids.insert(share.grant.lock_id);
  }
  EXPECT_EQ(SharesOf(client), ids);
  for (int i = 0; i < 3; ++i) {
    lying_commits_.Next(1);
    EXPECT_EQ(client.RenewShare("1", *ids.begin(), (i + 1) * 1h).status, OpStatus::kDone);
    EXPECT_GT(client.Read("1").remaining, (i + 1) * 1h - 1min);
  }
  while (!ids.empty()) {
    lying_commits_.Next(1);
    const WriteOp release = client.ReleaseShare("1", *ids.begin());
    EXPECT_EQ(release.status, OpStatus::kDone) << Why(release);
    ids.erase(ids.begin());
    EXPECT_EQ(SharesOf(client), ids);
  }
  EXPECT_TRUE(client.Read("1").lock_id.is_nil());
}

}  // namespace
}  // namespace doclock::sqlite_test
