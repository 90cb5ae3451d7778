// What the plain operations cost: which statements each of them runs.

#include "sqlite/operations/statements.h"

#include <gmock/gmock.h>

#include "sqlite/support/harness.h"

namespace doclock::sqlite_test {
namespace {

using ::testing::ElementsAre;

/// Tables: c documents, l leases, r shares, g groups.
class SqliteStatements : public SqliteTest {
 protected:
  void SetUp() override {
    client_.Release("1", client_.Create("1"));  // the owner's row, once a day
    static_cast<void>(statements_.Take());
  }
  SaveOp Replace(const Key& key) {
    const ReadOp read = client_.Read(key);
    static_cast<void>(statements_.Take());
    SaveOp op(client_.collection(), key);
    op.expected = read.version;
    op.born = read.born;
    op.write_id = NewUuid();
    op.body = Body::FromText("{}");
    client_.Execute(op);
    return op;
  }

  Statements statements_;
  Client client_{file_, {.sync = SqliteSync::kOff}};
};

TEST_F(SqliteStatements, OfAnExclusiveLock) {
  const AcquireOp held = client_.Acquire("1");
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "UPDATE c"));
  EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c"));
  EXPECT_TRUE(client_.Read("1").locked);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c"));
  WriteOp saved = client_.Write(WriteKind::kCheckpoint, "1", held.grant.lock_id,
                                Body::FromText("{}"), held.version);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "UPDATE c"));
  EXPECT_EQ(client_.Write(WriteKind::kRelease, "1", held.grant.lock_id, {}, saved.version).status,
            OpStatus::kDone);
  EXPECT_THAT(statements_.Take(), ElementsAre("UPDATE c", "DELETE l"));
  EXPECT_TRUE(client_.Create("2").created);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "INSERT c"));
}

TEST_F(SqliteStatements, OfRenewals) {
  const AcquireOp held = client_.Acquire("1");
  static_cast<void>(statements_.Take());
  client_.Renew("1", held.grant.lock_id);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "INSERT l"));
  client_.Renew("1", held.grant.lock_id);
  EXPECT_THAT(statements_.Take(), ElementsAre("UPDATE l"));
  const AcquireOp share = client_.Share("2");
  static_cast<void>(statements_.Take());
  client_.RenewShare("2", share.grant.lock_id);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "SELECT r", "INSERT l", "INSERT r"));
  client_.RenewShare("2", share.grant.lock_id);
  EXPECT_THAT(statements_.Take(), ElementsAre("UPDATE r", "INSERT l"));
}

TEST_F(SqliteStatements, OfSaves) {
  EXPECT_EQ(Replace("1").status, OpStatus::kDone);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "UPDATE c"));
  EXPECT_EQ(client_.Insert("2").status, OpStatus::kDone);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "INSERT c"));
}

TEST_F(SqliteStatements, OfShares) {
  const AcquireOp first = client_.Share("1");
  EXPECT_THAT(statements_.Take(),
              ElementsAre("SELECT c", "SELECT c", "DELETE r", "INSERT r", "UPDATE c"));
  const AcquireOp second = client_.Share("1");
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "SELECT r", "INSERT r", "UPDATE c"));
  client_.ReleaseShare("1", second.grant.lock_id);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "DELETE r"));
  client_.ReleaseShare("1", first.grant.lock_id);
  EXPECT_THAT(statements_.Take(),
              ElementsAre("SELECT c", "DELETE r", "SELECT c", "SELECT r", "UPDATE c", "DELETE r"));
}

}  // namespace
}  // namespace doclock::sqlite_test
