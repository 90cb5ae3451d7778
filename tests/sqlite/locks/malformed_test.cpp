// Lock columns that a foreign program wrote: a typed error, never free, and no effect on others.

#include "doclock/testing/faulty_store.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteMalformed : public ::testing::TestWithParam<const char*> {
 protected:
  /// The last one that the parameter sets.
  static std::string SpoiltColumn() {
    const std::string set = GetParam();
    const std::size_t last = set.rfind("lock_");
    return set.substr(last, set.find('=', last) - last);
  }
};

TEST_P(SqliteMalformed, IsNeverFreeAndSaysSo) {
  TempFolder folder;
  Client client(folder / "things.db", {.sync = SqliteSync::kOff});
  client.Insert("bad");
  client.Insert("good");
  RawDatabase(folder / "things.db")
      .Run(std::string("UPDATE doclock_l_things SET ") + GetParam() +
           " WHERE id=(SELECT id FROM doclock_c_things WHERE key='bad')");

  const Key bad_key("bad"), good_key("good");
  AcquireOp bad = client.AcquireOf(bad_key), good = client.AcquireOf(good_key);
  client.Execute({&bad, &good});
  EXPECT_EQ(good.status, OpStatus::kDone) << Why(good);
  ASSERT_EQ(bad.status, OpStatus::kFailed) << Why(bad);
  EXPECT_EQ(bad.detail->code, Errc::kMalformed);
  EXPECT_NE(bad.detail->message.find("(" + SpoiltColumn() + ")"), std::string::npos) << Why(bad);

  const ReadOp read = client.Read("bad");
  ASSERT_EQ(read.status, OpStatus::kFailed);
  EXPECT_EQ(read.detail->code, Errc::kMalformed);
  EXPECT_EQ(client.Renew("bad", NewUuid()).status, OpStatus::kFailed);
  EXPECT_EQ(client.Release("bad", NewUuid()).status, OpStatus::kFailed);
  EXPECT_EQ(client.Insert("bad").status, OpStatus::kFailed);

  EXPECT_EQ(client.AcquireNext(Filter()).status, OpStatus::kMissing)
      << "neither the malformed one nor the locked one";
  EXPECT_TRUE(client.Query(Filter().Free()).empty());
  EXPECT_EQ(client.Purge(), 0);
  const auto rows = client.Locks({.key = bad_key});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].why_malformed, SpoiltColumn() + " is not what doclock writes");
  EXPECT_THROW(testing::BreakLock(client.store(), "things", "bad"), StoreException);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SqliteMalformed,
    ::testing::Values("lock_version='seven'", "lock_version=1.5", "lock_version=-1",
                      "lock_version=NULL", "lock_version=9223372036854775807",
                      "lock_version=4611686018427387904", "lock_id='text'", "lock_id=zeroblob(15)",
                      "lock_id=zeroblob(16)", "lock_id=zeroblob(17)", "lock_id=0",
                      "lock_time='now'", "lock_time=9223372036854775807", "lock_ttl='long'",
                      "lock_ttl=-1", "lock_ttl=9223372036854775807", "lock_since=NULL",
                      "lock_closed='never'", "lock_fence=-1", "lock_owner=7", "lock_owner='me'",
                      "lock_group=x'00'", "lock_born='yesterday'", "lock_released=x'01'",
                      "lock_slot='none'", "lock_slot=-1", "lock_era='stone'", "lock_shares='one'",
                      "lock_shares=x'00'", "lock_queue='first'",
                      // A shared lock has shares, and no other lock has.
                      "lock_id=x'646f636c6f634b008000736861726564', lock_shares=NULL",
                      "lock_shares='0123456789abcdef0123456789abcdef 1 1 1 0 1 0 0: \n'",
                      "lock_queue='0123456789abcdef0123456789abcdef 1 1 1 0 0 0 0 0:'",
                      "lock_queue='0123456789abcdef0123456789abcdef 1 1 1 2 0 0 0 0: \n'",
                      "lock_queue='00000000000000000000000000000000 1 1 1 0 0 0 0 0: \n'",
                      "lock_queue='0123456789abcdef0123456789abcdef 1 1 1 0 0 0 0 9: \n'"));

}  // namespace
}  // namespace doclock::sqlite_test
