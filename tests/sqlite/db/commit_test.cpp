// Commits that fail half-way: each operation gets a true answer.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "doclock/lock_manager.h"
#include "doclock/lock_provider.h"
#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "sqlite/db/faulty_files.h"
#include "sqlite/db/lying_commits.h"
#include "sqlite/support/count.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"

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

SaveOp Erase(Client& client, const Key& key) {
  const ReadOp read = client.Read(key);
  return client.Erase(key, read.result.version, read.result.born);
}

void ExpectUnavailable(const StoreOp& op) {
  ASSERT_EQ(op.status, OpStatus::kFailed) << Why(op);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
}

/// The frames may be found in the log after a crash, and what is flushed later may not.
TEST_F(SqliteCommit, AFailedFlushIsDoubtAndTheEndOfTheOpenFile) {
  DOCLOCK_NEEDS_COORDINATOR();
  std::optional<Client> client(file_), other(file_);
  const AcquireOp held = client->Create("1");
  FaultyFiles::failing_syncs = 1;
  const WriteOp release = client->Release("1", held, Body::FromText(R"({"a":2})"));
  EXPECT_EQ(release.status, OpStatus::kInDoubt) << Why(release);
  client.emplace(file_);
  for (Client* const each : {&*client, &*other}) {
    const ReadOp read = each->Read("1");
    const SaveOp insert = each->Insert("2");
    for (const StoreOp* const op :
         {static_cast<const StoreOp*>(&read), static_cast<const StoreOp*>(&insert)}) {
      ASSERT_EQ(op->status, OpStatus::kFailed);
      EXPECT_EQ(op->detail->code, Errc::kRefused);
      EXPECT_NE(op->detail->message.find("a flush to the disk has failed"), std::string::npos)
          << Why(*op);
    }
  }
  client.reset();
  other.reset();
  ExpectWorks();
}

/// Nothing may be said of what was in it, also by the calls that look for it.
TEST_F(SqliteCommit, AFailedFlushIsDoubtForCallers) {
  DOCLOCK_NEEDS_COORDINATOR();
  LockManager manager(OpenSqliteStore(file_), {.call_budget = 1s});
  const Counters counters(manager, "counters");
  counters.Insert("a", {{"count", 0}});
  auto lock = counters.Lock("a");
  Increment(*lock);
  FaultyFiles::failing_syncs = 1;
  EXPECT_THROW(lock.Release(), InDoubtException);
  EXPECT_THROW(static_cast<void>(counters.Lock("b")), StoreException);
}

/// It is behind the commit, which is flushed or needs no flush, and takes earlier ones along.
TEST_F(SqliteCommit, AFailedFlushOfACheckpointIsTheEndOfTheOpenFile) {
  DOCLOCK_NEEDS_COORDINATOR();
  Client client(file_);
  client.Insert("1");
  FaultyFiles::failing_syncs = 1;
  AcquireOp held = client.Acquire("1");
  for (int i = 0; i < 3'000 && FaultyFiles::failing_syncs == 1; ++i) {
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    ASSERT_EQ(client.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  }
  ASSERT_EQ(FaultyFiles::failing_syncs, 0);
  const RenewOp refused = client.Renew("1", held.request.grant.lock_id);
  ASSERT_EQ(refused.status, OpStatus::kFailed);
  EXPECT_EQ(refused.detail->code, Errc::kRefused);
}

/// SQLite drops the transaction, as with a full disk; but it says the same of a disk that fails.
TEST_F(SqliteCommit, AQuotaAtTheCommitIsDoubt) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  FaultyFiles::write_error = SQLITE_IOERR_WRITE;
  FaultyFiles::failing_writes = 1;
  const WriteOp release = client.Release("1", held, Body::FromText(R"({"a":2})"));
  EXPECT_EQ(release.status, OpStatus::kInDoubt) << Why(release);
  EXPECT_EQ(client.Release("1", held, Body::FromText(R"({"a":2})")).status, OpStatus::kDone);
}

/// Else a power cut could undo it, and the next one would give its versions again.
TEST_F(SqliteCommit, AnEraBeginsWithAFlush) {
  DOCLOCK_NEEDS_COORDINATOR();
  for (const SqliteSync sync : {SqliteSync::kFull, SqliteSync::kNormal}) {
    Client(file_).Insert("1");
    FaultyFiles::failing_syncs = 1;
    EXPECT_THROW(Client(file_, {.sync = sync}), StoreException);
    EXPECT_EQ(FaultyFiles::failing_syncs, 0);
    Client client(file_, {.sync = sync});
    ASSERT_EQ(client.Acquire("1").status,
              OpStatus::kDone);  // the first of a log flushes its header
    FaultyFiles::failing_syncs = 1;
    EXPECT_EQ(client.Create("2").status,
              sync == SqliteSync::kFull ? OpStatus::kInDoubt : OpStatus::kDone);
    FaultyFiles::failing_syncs = 0;
  }
}

TEST_F(SqliteCommit, AFullDiskAtTheCommitIsAFailureOfAllThatWereInIt) {
  Client client(file_);
  client.Insert("1");
  client.Insert("2");
  const Key one("1"), two("2"), three("3");
  AcquireOp first = client.AcquireOf(one), second = client.AcquireOf(two);
  ReadOp third = client.ReadOf(three);
  FaultyFiles::failing_writes = 1;
  client.Execute({&first, &second, &third});
  EXPECT_EQ(first.status, OpStatus::kFailed) << Why(first);
  EXPECT_EQ(second.status, OpStatus::kFailed) << Why(second);
  EXPECT_EQ(third.status, OpStatus::kMissing) << "what was seen is true all the same";
  EXPECT_EQ(client.Acquire("1").result.version, 2);
  EXPECT_EQ(client.Acquire("2").result.version, 2);
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
  ASSERT_EQ(client.Wait("1", id).status, OpStatus::kDone);
  testing::ExpireLock(client.store(), "things", "1");
  FaultyFiles::failing_writes = 1;
  const AcquireOp again = client.Wait("1", id);
  EXPECT_EQ(again.status, OpStatus::kFailed) << Why(again);
  EXPECT_FALSE(client.Read("1").result.locked);
  EXPECT_EQ(client.Wait("1", id).result.version, again.result.version);
}

/// A search that broke off has not found out that nothing is free.
TEST_F(SqliteCommit, ASearchThatBreaksOffIsAFailure) {
  Client client(file_), others(file_);
  client.Insert("1", R"({"a":1})");
  for (const char* key : {"2", "3", "4"}) {
    others.Insert(key, R"({"a":2})");  // pages that the client has to read from the log
    FaultyFiles::failing_reads = kAll;
    const AcquireOp next = client.AcquireNext(Filter().Equal("a", 2)).op;
    EXPECT_LT(FaultyFiles::failing_reads, kAll) << "nothing failed";
    FaultyFiles::failing_reads = 0;
    ExpectUnavailable(next);
    EXPECT_TRUE(others.Read(key).result.lock_id.is_nil());
  }
}

TEST_F(SqliteCommit, RenewalsAfterAFailedCommitAreStillRight) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  FaultyFiles::FailCommit();
  EXPECT_NE(client.Renew("1", held.request.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(client.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.Release("1", held).status, OpStatus::kDone);
}

TEST_F(SqliteCommit, ARenewalWhoseCommitFailedChangesNothing) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  for (int i = 0; i < 2; ++i) {
    FaultyFiles::FailCommit();
    EXPECT_EQ(client.Renew("1", held.request.grant.lock_id, 1h).status, OpStatus::kInDoubt);
    EXPECT_LE(client.Read("1").result.remaining, 30s);
    EXPECT_EQ(client.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  }
}

/// The commit says that it failed.
TEST_F(SqliteCommit, WhatTookPlaceAllTheSameIsDoubt) {
  Client client(file_);
  client.Insert("1");
  lying_commits_.Next(1);
  const AcquireOp held = client.Acquire("1");
  ASSERT_EQ(held.status, OpStatus::kInDoubt) << Why(held);
  EXPECT_EQ(client.Read("1").result.lock_id, held.request.grant.lock_id);
  lying_commits_.Next(1);
  EXPECT_EQ(client.Renew("1", held.request.grant.lock_id, 1h).status, OpStatus::kInDoubt);
  EXPECT_GT(client.Read("1").result.remaining, 59min);
  lying_commits_.Next(1);
  EXPECT_EQ(client.Release("1", held.request.grant.lock_id, {.body = Body::FromText(R"({"a":2})")})
                .status,
            OpStatus::kInDoubt);
  EXPECT_EQ(client.Read("1").result.body.json().at("a"), 2);
  lying_commits_.Next(1);
  EXPECT_EQ(client.Insert("2").status, OpStatus::kInDoubt);
  lying_commits_.Next(1);
  EXPECT_EQ(Erase(client, "2").status, OpStatus::kInDoubt);
  EXPECT_EQ(client.Read("2").status, OpStatus::kMissing);
}

TEST_F(SqliteCommit, AnOptimisticWriteWhoseCommitFailedIsNotThere) {
  Client client(file_);
  FaultyFiles::FailCommit();
  EXPECT_EQ(client.Insert("1").status, OpStatus::kInDoubt);
  EXPECT_EQ(client.Read("1").status, OpStatus::kMissing);
  client.Insert("1");
  FaultyFiles::FailCommit();
  EXPECT_EQ(Erase(client, "1").status, OpStatus::kInDoubt);
  EXPECT_EQ(client.Read("1").status, OpStatus::kDone);
  EXPECT_EQ(Erase(client, "1").status, OpStatus::kDone);
}

/// At one moment: only its version tells it from what was stored before.
TEST_F(SqliteCommit, ACheckpointWhoseCommitFailedIsNotTakenForDone) {
  Client client(file_, {.clock = std::make_shared<testing::ManualClock>()});
  const AcquireOp held = client.Create("1");
  const auto checkpoint = [&] {
    return client.Write("1", WriteKind::kCheckpoint, held.request.grant.lock_id,
                        {.expected = held.result.version, .body = Body::FromText(R"({"a":2})")});
  };
  FaultyFiles::failing_writes = 1;
  ExpectUnavailable(checkpoint());
  EXPECT_EQ(client.Read("1").result.version, held.result.version);
  EXPECT_EQ(checkpoint().status, OpStatus::kDone);
}

TEST_F(SqliteCommit, TheOutcomeOfATransactionIsThatOfAllItsDocuments) {
  Client client(file_);
  const Key held_key("held"), fresh("fresh"), other("other");
  const AcquireOp held = client.Create(held_key);
  WriteOp release =
      client.ReleaseOf(held_key, held.request.grant.lock_id,
                       {.expected = held.result.version, .body = Body::FromText(R"({"a":2})")});
  SaveOp first = client.InsertOf(fresh, {}), second = client.InsertOf(other, {});
  StoreOp* const ops[] = {&first, &release, &second};
  CommitOp commit{.ops = ops};
  const auto expect = [&](OpStatus status, bool stored) {
    client.store().Commit(commit, kBudget);
    for (const StoreOp* const op : ops) EXPECT_EQ(op->status, status) << Why(*op);
    EXPECT_EQ(client.Read(fresh).status, stored ? OpStatus::kDone : OpStatus::kMissing);
    EXPECT_EQ(client.Read(other).status, stored ? OpStatus::kDone : OpStatus::kMissing);
    EXPECT_EQ(client.Read(held_key).result.locked, !stored);
  };
  FaultyFiles::failing_writes = 1;
  expect(OpStatus::kFailed, false);
  FaultyFiles::FailCommit();
  expect(OpStatus::kInDoubt, false);
  lying_commits_.Next(1);
  expect(OpStatus::kInDoubt, true);
  EXPECT_EQ(client.Read(held_key).result.body.json().at("a"), 2);
}

}  // namespace
}  // namespace doclock::sqlite_test
