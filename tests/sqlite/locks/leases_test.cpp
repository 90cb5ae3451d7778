// A lock's row: it goes with its document, whoever deletes that, and with no other.

#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "rules/lock_state.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteLeases : public SqliteTest {
 protected:
  /// Which rows belong to no document?
  [[nodiscard]] std::int64_t Strays() {
    return RawDatabase(file_).Number(
        "SELECT count(*) FROM doclock_l_things WHERE id NOT IN (SELECT id FROM doclock_c_things)");
  }
  SqliteStoreOptions Options() const { return {.sync = SqliteSync::kOff, .clock = clock_}; }
  AcquireOp Renewed(const Key& key) {
    AcquireOp held = client_.Create(key, R"({"a":1})");
    EXPECT_EQ(client_.Renew(key, held.request.grant.lock_id).status, OpStatus::kDone);
    return held;
  }

  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  Client client_{file_, Options()};
};

TEST_F(SqliteLeases, ADocumentThatTakesThePlaceOfAnotherBeginsWithoutItsLock) {
  RawDatabase shell(file_);
  const std::vector<std::string> places = {
      "DELETE FROM doclock_c_things WHERE key='1'; INSERT INTO doclock_c_things(key, body) "
      "VALUES('1', '{}')",
      "DELETE FROM doclock_c_things; INSERT INTO doclock_c_things(key, body) VALUES('1', '{}')",
      "REPLACE INTO doclock_c_things(key, body) VALUES('1', '{}')",
      "REPLACE INTO doclock_c_things(id, key, body) SELECT id, '1', '{}' FROM doclock_c_things "
      "WHERE key='1'",
      "REPLACE INTO doclock_c_things(key, body) VALUES('1', '{}'); DELETE FROM doclock_c_things; "
      "INSERT INTO doclock_c_things(key, body) VALUES('1', '{}')",
      "INSERT OR REPLACE INTO doclock_c_things(id, key, body) VALUES(700, '1', '{}')",
      "UPDATE doclock_c_things SET id=id+1 WHERE key='1'",
      "INSERT INTO doclock_c_things(id, key) VALUES(900, 'other'); UPDATE OR REPLACE "
      "doclock_c_things SET id=900 WHERE key='1'"};
  for (const std::string& sql : places) {
    SCOPED_TRACE(sql);
    const AcquireOp held = client_.Create("1");
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    shell.Run(sql);
    EXPECT_EQ(client_.Renew("1", held.request.grant.lock_id).status, OpStatus::kLost);
    const ReadOp read = client_.Read("1");
    EXPECT_EQ(read.status, OpStatus::kDone) << Why(read);
    EXPECT_EQ(read.result.version, 0) << "as one that was never locked";
    const AcquireOp next = client_.Acquire("1");
    EXPECT_EQ(next.status, OpStatus::kDone) << Why(next);
    EXPECT_FALSE(next.result.took_over);
    client_.Release("1", next);
  }
}

TEST_F(SqliteLeases, AnErasureTakesTheLockAlong) {
  for (int i = 0; i < 2; ++i) {
    const AcquireOp held = Renewed("1");
    EXPECT_EQ(client_.Write("1", WriteKind::kErase, held.request.grant.lock_id).status,
              OpStatus::kDone);
    EXPECT_EQ(RawDatabase(file_).Number("SELECT count(*) FROM doclock_l_things"), 0);
  }
}

TEST_F(SqliteLeases, ADocumentThatIsRenamedByHandKeepsItsLock) {
  const AcquireOp held = client_.Create("1");
  RawDatabase(file_).Run("UPDATE doclock_c_things SET key='2'");
  EXPECT_EQ(client_.Renew("2", held.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(Strays(), 0);
}

/// Of a large one it would read and write many pages.
TEST_F(SqliteLeases, NoLockTouchesTheBody) {
  const AcquireOp held = client_.Create("1", R"({"a":1})");
  RawDatabase(file_).Run("UPDATE doclock_c_things SET body='{broken'");
  EXPECT_EQ(client_.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client_.Release("1", held).status, OpStatus::kDone);
  EXPECT_EQ(RawDatabase(file_).Text("SELECT body FROM doclock_c_things"), "{broken");
}

TEST_F(SqliteLeases, ARowDeletedByHandIsMissedByTheNextRenewal) {
  const AcquireOp held = Renewed("1");
  RawDatabase(file_).Run("DELETE FROM doclock_c_things");
  EXPECT_EQ(client_.Renew("1", held.request.grant.lock_id).status, OpStatus::kMissing);
  EXPECT_EQ(client_.Create("1").status, OpStatus::kDone);
  EXPECT_EQ(client_.Renew("1", held.request.grant.lock_id).status, OpStatus::kLost);
}

TEST_F(SqliteLeases, ALockTakenAwayByHandIsMissedByTheNextRenewal) {
  for (const char* other : {"NULL", "randomblob(16)"}) {
    const AcquireOp held = Renewed("1");
    RawDatabase(file_).Run(std::string("UPDATE doclock_l_things SET lock_id=") + other);
    EXPECT_EQ(client_.Renew("1", held.request.grant.lock_id).status, OpStatus::kLost) << other;
    clock_->Advance(60s);
  }
}

TEST_F(SqliteLeases, ATriggerThatEndsTheTransactionLeavesNothingThatWasRefused) {
  RawDatabase(file_).Run(
      "CREATE TRIGGER t BEFORE INSERT ON doclock_c_things WHEN new.key='2' "
      "BEGIN SELECT RAISE(ROLLBACK, 'no'); END");
  const std::vector<Key> keys = {Key("1"), Key("2"), Key("3"), Key("4")};
  std::vector<AcquireOp> ops;
  for (const Key& key : keys) {
    ops.push_back(client_.AcquireOf(key, {.insert = Body::FromText("{}")}));
  }
  client_.Execute({&ops[0], &ops[1], &ops[2], &ops[3]});
  EXPECT_EQ(ops[1].status, OpStatus::kFailed);
  for (const AcquireOp& op : ops) {
    const bool held = client_.Read(*op.key).result.locked;
    EXPECT_EQ(op.status == OpStatus::kDone, held) << op.key->ToString() << ": " << Why(op);
  }
}

/// SQLite takes the statement for done; the row that was inserted last is that of another document.
TEST_F(SqliteLeases, ATriggerThatIgnoresAChangeIsARefusal) {
  const AcquireOp other = client_.Create("other");
  const AcquireOp held = client_.Create("1", R"({"a":1})");
  RawDatabase shell(file_);
  for (const char* event : {"INSERT", "UPDATE", "DELETE"}) {
    shell.Run(std::string("CREATE TRIGGER ignore_") + event + " BEFORE " + event +
              " ON doclock_c_things BEGIN SELECT RAISE(IGNORE); END");
  }
  const auto refused = [](const StoreOp& op) {
    EXPECT_EQ(op.status, OpStatus::kFailed) << Why(op);
    if (!op.detail) return;
    EXPECT_EQ(op.detail->code, Errc::kRefused);
    EXPECT_NE(op.detail->message.find("RAISE(IGNORE)"), std::string::npos) << Why(op);
  };
  refused(client_.Create("new"));
  refused(client_.Insert("new"));
  refused(client_.Release("1", held, Body::FromText(R"({"a":2})")));
  refused(client_.Write("1", WriteKind::kErase, held.request.grant.lock_id));
  EXPECT_EQ(client_.Read("new").status, OpStatus::kMissing);
  EXPECT_EQ(client_.Renew("other", other.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client_.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  for (const char* event : {"INSERT", "UPDATE", "DELETE"}) {
    shell.Run(std::string("DROP TRIGGER ignore_") + event);
  }
  EXPECT_EQ(client_.Release("1", held, Body::FromText(R"({"a":2})")).status, OpStatus::kDone);
}

TEST_F(SqliteLeases, AMergeIntoABrokenBodyFailsAndKeepsTheLock) {
  const AcquireOp held = client_.Create("1");
  RawDatabase(file_).Run("UPDATE doclock_c_things SET body='{broken'");
  const WriteOp release = client_.Release("1", held.request.grant.lock_id,
                                          {.body = Body::FromText("{}"), .merge = true});
  ASSERT_EQ(release.status, OpStatus::kFailed);
  EXPECT_EQ(release.detail->code, Errc::kDocument);
  EXPECT_EQ(client_.Release("1", held).status, OpStatus::kDone);
}

/// On which the process's end ends it at once.
TEST_F(SqliteLeases, ALockThatWasDetachedHangsOnTheProcessThatRenewsIt) {
  DOCLOCK_NEEDS_COORDINATOR();
  const auto slot = [this] {
    return RawDatabase(file_).Number("SELECT lock_slot FROM doclock_l_things");
  };
  const AcquireOp held = client_.Acquire("1", {.insert = Body::FromText("{}"), .detached = true});
  EXPECT_EQ(slot(), 0);
  EXPECT_EQ(client_.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_NE(slot(), 0);
  EXPECT_EQ(
      client_.Renew("1", held.request.grant.lock_id, 30s, LockMode::kExclusive, /*detached=*/true)
          .status,
      OpStatus::kDone);
  EXPECT_EQ(slot(), 0);
}

TEST_F(SqliteLeases, ALockIsAsOldAsItsGrantWhetherRenewedDetachedOrAttached) {
  const AcquireOp held = client_.Create("1");
  for (const bool detached : {false, true, true, false}) {
    clock_->Advance(10s);
    EXPECT_EQ(client_
                  .Renew("1", held.request.grant.lock_id, 30s, LockMode::kExclusive,
                         /*detached=*/detached)
                  .status,
              OpStatus::kDone);
  }
  clock_->Advance(5s);
  const auto rows = client_.Locks();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].age, 45s);
  EXPECT_EQ(rows[0].ttl, 30s);
  EXPECT_EQ(rows[0].left, 25s);
}

}  // namespace
}  // namespace doclock::sqlite_test
