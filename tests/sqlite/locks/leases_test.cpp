// Renewals live in a table of their own: a lease's row has a lock's id exactly while the lock has.

#include <nlohmann/json.hpp>

#include "doclock/testing/intervene.h"
#include "doclock/testing/manual_clock.h"
#include "rules/lock_state.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteLeases : public SqliteTest {
 protected:
  [[nodiscard]] std::int64_t Rows() {
    return RawDatabase(file_).Number("SELECT count(*) FROM doclock_l_things");
  }
  SqliteStoreOptions Options() const { return {.sync = SqliteSync::kOff, .clock = clock_}; }
  AcquireOp Renewed(const Key& key) {
    AcquireOp held = client_.Create(key, R"({"a":1})");
    EXPECT_EQ(client_.Renew(key, held.grant.lock_id).status, OpStatus::kDone);
    EXPECT_EQ(Rows(), 1);
    return held;
  }
  /// To be sent together. The keys must outlive them.
  std::vector<AcquireOp> AcquiresOf(const std::vector<Key>& keys) {
    std::vector<AcquireOp> ops;
    for (const Key& key : keys) {
      ops.emplace_back(client_.collection(), key);
      ops.back().grant.lock_id = NewUuid();
      ops.back().grant.ttl = 30s;
    }
    return ops;
  }

  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  Client client_{file_, Options()};
};

TEST_F(SqliteLeases, ARowAppearsWithTheFirstRenewalAndProlongsTheLock) {
  const AcquireOp held = client_.Create("1");
  EXPECT_EQ(Rows(), 0);
  for (int i = 0; i < 5; ++i) {
    clock_->Advance(20s);
    EXPECT_EQ(client_.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
    EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy);
  }
  EXPECT_EQ(Rows(), 1);
  EXPECT_EQ(client_.Read("1").remaining, 30s);
  clock_->Advance(30s);
  EXPECT_EQ(client_.Renew("1", held.grant.lock_id).status, OpStatus::kLost)
      << "a renewal never revives";
  EXPECT_TRUE(client_.Acquire("1").took_over);
}

TEST_F(SqliteLeases, ARenewalStoresNoLeaseThatReadersTakeForMalformed) {
  const Key keys[] = {Key("1"), Key("2")};
  const Uuid ids[] = {client_.Create("1").grant.lock_id, client_.Share("2").grant.lock_id};
  const auto renew = [&](int i) {
    RenewOp op(client_.collection(), keys[i]);
    op.lock_id = ids[i];
    op.ttl = 30s;
    op.mode = i == 0 ? LockMode::kExclusive : LockMode::kShared;
    client_.Execute(op);
    return op.status;
  };
  clock_->Advance(1s);
  for (const int i : {0, 1}) ASSERT_EQ(renew(i), OpStatus::kDone);
  const std::string tables[] = {"doclock_l_things", "doclock_r_things"};
  for (const std::string& table : tables) {
    RawDatabase(file_).Run("UPDATE " + table + " SET renewed = renewed + 400*86400*1000000000");
  }
  for (const int i : {0, 1}) {
    EXPECT_EQ(renew(i), OpStatus::kDone);
    const ReadOp read = client_.Read(keys[i]);
    EXPECT_EQ(read.status, OpStatus::kDone) << Why(read);
    EXPECT_EQ(read.remaining, rules::kLongestLease);
  }
  for (const std::string& table : tables) {
    EXPECT_EQ(RawDatabase(file_).Number("SELECT max(ttl) FROM " + table),
              rules::kLongestLease.count());
  }
  EXPECT_EQ(client_.Share("2").status, OpStatus::kDone);
}

TEST_F(SqliteLeases, EveryWriteThatTakesTheLockAwayDeletesItsLease) {
  client_.Release("1", Renewed("1"));
  EXPECT_EQ(Rows(), 0);

  AcquireOp held = Renewed("1");
  EXPECT_EQ(client_
                .Write(WriteKind::kRelease, "1", held.grant.lock_id, Body::FromText("{}"),
                       kAnyVersion, /*merge=*/true)
                .status,
            OpStatus::kDone);
  EXPECT_EQ(Rows(), 0);

  held = Renewed("1");
  EXPECT_EQ(client_.Write(WriteKind::kErase, "1", held.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(Rows(), 0);

  for (const auto act : {testing::ExpireLock, testing::BreakLock, testing::StealLock}) {
    held = Renewed("2");
    act(client_.store(), "things", "2");
    EXPECT_EQ(Rows(), 0);
    EXPECT_EQ(client_.Renew("2", held.grant.lock_id).status, OpStatus::kLost);
    EXPECT_EQ(Rows(), 0);
    clock_->Advance(60s);
  }

  held = Renewed("3");
  clock_->Advance(60s);
  const AcquireOp thief = client_.Acquire("3");
  EXPECT_TRUE(thief.took_over);
  EXPECT_EQ(Rows(), 0);
  EXPECT_EQ(client_.Renew("3", held.grant.lock_id).status, OpStatus::kLost);

  held = Renewed("4");
  clock_->Advance(60s);
  const Key key("4");
  SaveOp save(client_.collection(), key);
  save.expected = held.version;
  save.born = held.born;
  save.write_id = NewUuid();
  save.body = Body::FromText("{}");
  client_.Execute(save);
  EXPECT_EQ(save.status, OpStatus::kDone);
  EXPECT_EQ(Rows(), 0);

  Renewed("5");
  clock_->Advance(60s);
  EXPECT_GE(client_.store().Purge(client_.collection(), 100, kBudget), 1);
  EXPECT_EQ(Rows(), 0);
}

TEST_F(SqliteLeases, ARowDeletedByHandIsMissedByTheNextRenewal) {
  const AcquireOp held = Renewed("1");
  RawDatabase(file_).Run("DELETE FROM doclock_c_things");
  EXPECT_EQ(client_.Renew("1", held.grant.lock_id).status, OpStatus::kMissing);
  EXPECT_EQ(client_.Create("1").status, OpStatus::kDone);
  EXPECT_EQ(client_.Renew("1", held.grant.lock_id).status, OpStatus::kLost);
}

TEST_F(SqliteLeases, ALockTakenAwayByHandIsMissedByTheNextRenewal) {
  for (const char* other : {"zeroblob(16)", "randomblob(16)"}) {
    const AcquireOp held = Renewed("1");
    RawDatabase(file_).Run(std::string("UPDATE doclock_c_things SET lock_id=") + other);
    EXPECT_EQ(client_.Renew("1", held.grant.lock_id).status, OpStatus::kLost) << other;
    clock_->Advance(60s);
  }
}

TEST_F(SqliteLeases, ACheckpointStartsTheLeaseAnewWhateverWasRenewed) {
  const AcquireOp held = client_.Create("1");
  ASSERT_EQ(client_.Renew("1", held.grant.lock_id, 10min).status, OpStatus::kDone);
  EXPECT_EQ(client_.Read("1").remaining, 10min);
  const WriteOp save = client_.Write(WriteKind::kCheckpoint, "1", held.grant.lock_id);
  EXPECT_EQ(save.status, OpStatus::kDone);
  EXPECT_EQ(client_.Read("1").remaining, 30s);
  EXPECT_EQ(client_.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
}

TEST_F(SqliteLeases, AHandOverLeavesNoLeaseOfTheFormerHolder) {
  const AcquireOp held = Renewed("1");
  const Key key("1");
  GrantRequest next;
  next.lock_id = NewUuid();
  next.ttl = 30s;
  WriteOp release(client_.collection(), key);
  release.lock_id = held.grant.lock_id;
  release.expected = held.version;
  release.next = &next;
  client_.Execute(release);
  EXPECT_EQ(release.status, OpStatus::kDone);
  EXPECT_EQ(Rows(), 0);
  EXPECT_EQ(client_.Renew("1", held.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(client_.Renew("1", next.lock_id).status, OpStatus::kDone);
}

TEST_F(SqliteLeases, OneFailingOperationLeavesItsNeighboursAlone) {
  client_.store().EnsureIndex(client_.collection(), {.fields = {"mail"}, .unique = true});
  client_.Insert("taken", R"({"mail":"a@b"})");
  const std::vector<Key> keys = {Key("1"), Key("2"), Key("3"), Key("gone")};
  std::vector<AcquireOp> ops = AcquiresOf(keys);
  ops[0].insert = Body::FromText(R"({"mail":"1@b"})");
  ops[1].insert = Body::FromText(R"({"mail":"a@b"})");
  ops[2].insert = Body::FromText(R"({"mail":"3@b"})");
  std::vector<StoreOp*> batch;
  for (AcquireOp& op : ops) batch.push_back(&op);
  client_.store().Execute(batch, kBudget);
  EXPECT_EQ(ops[0].status, OpStatus::kDone);
  EXPECT_EQ(ops[1].status, OpStatus::kConflict);
  EXPECT_EQ(ops[1].detail->index, "mail");
  EXPECT_EQ(ops[2].status, OpStatus::kDone);
  EXPECT_EQ(ops[3].status, OpStatus::kMissing);
  EXPECT_EQ(client_.Read("2").status, OpStatus::kMissing);
}

TEST_F(SqliteLeases, ATriggerThatEndsTheTransactionLeavesNothingThatWasRefused) {
  RawDatabase(file_).Run(
      "CREATE TRIGGER t BEFORE INSERT ON doclock_c_things WHEN new.key='2' "
      "BEGIN SELECT RAISE(ROLLBACK, 'no'); END");
  const std::vector<Key> keys = {Key("1"), Key("2"), Key("3"), Key("4")};
  std::vector<AcquireOp> ops = AcquiresOf(keys);
  for (AcquireOp& op : ops) op.insert = Body::FromText("{}");
  std::vector<StoreOp*> batch;
  for (AcquireOp& op : ops) batch.push_back(&op);
  client_.store().Execute(batch, kBudget);
  EXPECT_EQ(ops[1].status, OpStatus::kFailed);
  for (const AcquireOp& op : ops) {
    const bool held = client_.Read(*op.key).locked;
    EXPECT_EQ(op.status == OpStatus::kDone, held) << op.key->ToString() << ": " << Why(op);
  }
}

TEST_F(SqliteLeases, ALockThatIsHeldForAYearKeepsTheNameOfItsHolder) {
  const auto acquire = [&](const Key& key, const std::string& name) {
    AcquireOp op(client_.collection(), key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = 30s;
    op.grant.owner = std::make_shared<const LockHolder>(LockHolder{name, "host", 1});
    op.insert = Body::FromText("{}");
    client_.Execute(op);
    EXPECT_EQ(op.status, OpStatus::kDone);
  };
  acquire("1", "first");
  RawDatabase(file_).Run("UPDATE doclock_owners SET seen = seen - 365*24*3600");
  acquire("2", "second");
  EXPECT_EQ(Client(file_, Options()).Read("1").holder.name, "first");
}

TEST_F(SqliteLeases, AMergeReplacesOnlyTheFieldsItHas) {
  const AcquireOp held = client_.Create("1", R"({"a":1,"b":{"c":2},"z":"ä"})");
  const WriteOp release =
      client_.Write(WriteKind::kRelease, "1", held.grant.lock_id,
                    Body::FromText(R"({"a":5,"n":null})"), kAnyVersion, /*merge=*/true);
  EXPECT_EQ(release.status, OpStatus::kDone);
  EXPECT_EQ(client_.Read("1").body.json(),
            nlohmann::json::parse(R"({"a":5,"b":{"c":2},"n":null,"z":"ä"})"));
}

TEST_F(SqliteLeases, AMergeIntoABrokenBodyFailsAndKeepsTheLock) {
  const AcquireOp held = client_.Create("1");
  RawDatabase(file_).Run("UPDATE doclock_c_things SET body='{broken'");
  const WriteOp release = client_.Write(WriteKind::kRelease, "1", held.grant.lock_id,
                                        Body::FromText("{}"), kAnyVersion, /*merge=*/true);
  ASSERT_EQ(release.status, OpStatus::kFailed);
  EXPECT_EQ(release.detail->code, Errc::kDocument);
  EXPECT_EQ(client_.Release("1", held).status, OpStatus::kDone);
}

TEST_F(SqliteLeases, ALockIsAsOldAsItsGrantWhetherRenewedDetachedOrAttached) {
  const AcquireOp held = client_.Create("1");
  for (const bool detached : {false, true, true, false}) {
    clock_->Advance(10s);
    EXPECT_EQ(client_.Renew("1", held.grant.lock_id, 30s, detached).status, OpStatus::kDone);
  }
  clock_->Advance(5s);
  const auto rows = client_.store().ListLocks(client_.collection(), {}, "", kBudget).rows;
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].age, 45s);
  EXPECT_EQ(rows[0].ttl, 30s);
  EXPECT_EQ(rows[0].left, 25s);
}

/// On which the process's end ends it at once.
TEST_F(SqliteLeases, ALockThatWasDetachedHangsOnTheProcessThatRenewsIt) {
  DOCLOCK_NEEDS_COORDINATOR();
  const auto slot = [this] {
    return RawDatabase(file_).Number("SELECT lock_slot FROM doclock_c_things");
  };
  const AcquireOp held = client_.Acquire("1", 30s, Body::FromText("{}"), /*detached=*/true);
  EXPECT_EQ(slot(), 0);
  EXPECT_EQ(client_.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
  EXPECT_NE(slot(), 0);
  EXPECT_EQ(client_.Renew("1", held.grant.lock_id, 30s, /*detached=*/true).status, OpStatus::kDone);
  EXPECT_EQ(slot(), 0);
}

}  // namespace
}  // namespace doclock::sqlite_test
