// Lock columns that a foreign program wrote: a typed error, never free, and no effect on others.

#include "doclock/testing/intervene.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteMalformed : public ::testing::TestWithParam<const char*> {
 protected:
  /// The last one that the parameter sets.
  static std::string SpoiltColumn() {
    const std::string set = GetParam();
    const std::string last = set.substr(set.rfind(' ') + 1);
    return last.substr(0, last.find('='));
  }
};

TEST_P(SqliteMalformed, IsNeverFreeAndSaysSo) {
  TempFolder folder;
  Client client(folder / "things.db", {.sync = SqliteSync::kOff});
  client.Insert("bad");
  client.Insert("good");
  RawDatabase(folder / "things.db")
      .Run(std::string("UPDATE doclock_c_things SET ") + GetParam() + " WHERE key='bad'");

  const Key bad_key("bad"), good_key("good");
  AcquireOp bad(client.collection(), bad_key), good(client.collection(), good_key);
  bad.grant.lock_id = NewUuid();
  good.grant.lock_id = NewUuid();
  bad.grant.ttl = good.grant.ttl = 30s;
  StoreOp* const both[] = {&bad, &good};
  client.store().Execute(both, kBudget);
  EXPECT_EQ(good.status, OpStatus::kDone) << Why(good);
  ASSERT_EQ(bad.status, OpStatus::kFailed) << Why(bad);
  EXPECT_EQ(bad.detail->code, Errc::kMalformed);
  EXPECT_NE(bad.detail->message.find("(" + SpoiltColumn() + ")"), std::string::npos) << Why(bad);

  const ReadOp read = client.Read("bad");
  ASSERT_EQ(read.status, OpStatus::kFailed);
  EXPECT_EQ(read.detail->code, Errc::kMalformed);
  EXPECT_EQ(client.Renew("bad", NewUuid()).status, OpStatus::kFailed);
  EXPECT_EQ(client.Write(WriteKind::kRelease, "bad", NewUuid()).status, OpStatus::kFailed);
  EXPECT_EQ(client.Insert("bad").status, OpStatus::kFailed);

  Key found;
  AcquireOp next(client.collection(), found);
  next.grant.lock_id = NewUuid();
  next.grant.ttl = 30s;
  client.store().AcquireNext(Filter(), next, found, kBudget);
  EXPECT_EQ(next.status, OpStatus::kMissing) << "neither the malformed one nor the locked one";
  int free = 0;
  client.store().Query(
      client.collection(), Filter().Free(),
      [&](QueryRow&&) {
        ++free;
        return true;
      },
      kBudget);
  EXPECT_EQ(free, 0);
  EXPECT_EQ(client.store().Purge(client.collection(), 100, kBudget), 0);
  EXPECT_THROW(testing::BreakLock(client.store(), "things", "bad"), StoreException);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SqliteMalformed,
    ::testing::Values("lock_id='text'", "lock_id=zeroblob(15)", "lock_id=zeroblob(17)", "lock_id=0",
                      "lock_version='seven'", "lock_version=1.5", "lock_version=-1",
                      "lock_version=9223372036854775807", "lock_id=randomblob(16), lock_time='now'",
                      "lock_id=randomblob(16), lock_time=-5",
                      "lock_id=randomblob(16), lock_ttl='long'",
                      "lock_id=randomblob(16), lock_ttl=9223372036854775807",
                      "lock_id=randomblob(16), lock_slot='none'",
                      "lock_id=randomblob(16), lock_boot=x'00'", "lock_closed='never'",
                      "lock_released=x'01'", "lock_born='yesterday'"));

}  // namespace
}  // namespace doclock::sqlite_test
