// What the plain operations cost: which statements each of them runs.

#include "sqlite/operations/statements.h"

#include <gmock/gmock.h>

#include "sqlite/support/harness.h"

namespace doclock::sqlite_test {
namespace {

using ::testing::ElementsAre;

/// Tables: c documents, l locks.
class SqliteStatements : public SqliteTest {
 protected:
  void SetUp() override {
    client_.Release("1", client_.Create("1"));
    static_cast<void>(statements_.Take());
  }
  SaveOp Replace(const Key& key) {
    const ReadOp read = client_.Read(key);
    static_cast<void>(statements_.Take());
    return client_.Replace(key, read.result.version, read.result.born, {});
  }

  Statements statements_;
  Client client_{file_, {.sync = SqliteSync::kOff}};
};

TEST_F(SqliteStatements, OfAnExclusiveLock) {
  const AcquireOp held = client_.Acquire("1");
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "INSERT l"));
  EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c"));
  EXPECT_TRUE(client_.Read("1").result.locked);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c"));
  client_.Renew("1", held.request.grant.lock_id);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "INSERT l"));
  WriteOp saved = client_.Write("1", WriteKind::kCheckpoint, held.request.grant.lock_id,
                                {.expected = held.result.version, .body = Body::FromText("{}")});
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "UPDATE c", "INSERT l"));
  EXPECT_EQ(
      client_.Release("1", held.request.grant.lock_id, {.expected = saved.result.version}).status,
      OpStatus::kDone);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "INSERT l"));
  EXPECT_TRUE(client_.Create("2").result.created);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "INSERT c", "INSERT l"));
}

TEST_F(SqliteStatements, OfSaves) {
  EXPECT_EQ(Replace("1").status, OpStatus::kDone);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "UPDATE c", "INSERT l"));
  EXPECT_EQ(client_.Insert("2").status, OpStatus::kDone);
  EXPECT_THAT(statements_.Take(), ElementsAre("SELECT c", "INSERT c", "INSERT l"));
}

}  // namespace
}  // namespace doclock::sqlite_test
