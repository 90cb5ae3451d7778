// Commits that fail half-way: each operation gets a true answer.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sqlite/client.h"
#include "sqlite/faulty_files.h"
#include "sqlite/temp_folder.h"

namespace doclock::sqlite_test {
namespace {

class SqliteCommit : public ::testing::Test {
 protected:
  void TearDown() override { FaultyFiles::failing_syncs = FaultyFiles::failing_writes = 0; }

  FaultyFiles files_;
  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "things.db";
};

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
  FaultyFiles::failing_syncs = 1'000;
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

TEST_F(SqliteCommit, RenewalsAfterAFailedCommitAreStillRight) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  FaultyFiles::failing_syncs = 1;
  EXPECT_NE(client.Renew("1", held.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(client.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.Renew("1", held.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.Release("1", held).status, OpStatus::kDone);
}

}  // namespace
}  // namespace doclock::sqlite_test
