// Shared locks on SQLite: the side tables, the life of the sharers' processes, and what exclusive
// locks cost besides.

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>

#include "doclock/testing/intervene.h"
#include "doclock/testing/manual_clock.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteShares : public SqliteTest {
 protected:
  std::int64_t Rows(const std::string& table) {
    return RawDatabase(file_).Number("SELECT count(*) FROM doclock_" + table + "_things");
  }
  std::vector<LockRow> List(const LockQuery& query = {}) {
    return client_.store().ListLocks(client_.collection(), query, "", kBudget).rows;
  }
  static void ExpectBusy(const AcquireOp& op, std::chrono::milliseconds remaining) {
    ASSERT_EQ(op.status, OpStatus::kBusy) << Why(op);
    EXPECT_EQ(op.detail->remaining, remaining);
  }
  static void ExpectMalformed(const StoreOp& op) {
    ASSERT_EQ(op.status, OpStatus::kFailed);
    EXPECT_EQ(op.detail->code, Errc::kMalformed);
  }

  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  Client client_{file_, {.sync = SqliteSync::kOff, .clock = clock_}};
};

TEST_F(SqliteShares, TheDocumentShowsThemAsOneLockUntilTheLastIsGone) {
  const AcquireOp one = client_.Share("1"), two = client_.Share("1", kMaxHolders, 60s);
  EXPECT_EQ(one.status, OpStatus::kDone) << Why(one);
  EXPECT_TRUE(one.created);
  EXPECT_EQ(two.version, 2);
  EXPECT_EQ(client_.Read("1").lock_id, kSharedLockId);
  EXPECT_EQ(client_.Read("1").remaining, 60s);
  ExpectBusy(client_.Acquire("1"), 60s);
  EXPECT_EQ(client_.ReleaseShare("1", two.grant.lock_id).status, OpStatus::kDone);
  EXPECT_TRUE(client_.Read("1").locked);
  ExpectBusy(client_.Acquire("1"), 30s);
  EXPECT_EQ(client_.ReleaseShare("1", two.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(client_.ReleaseShare("1", one.grant.lock_id).status, OpStatus::kDone);
  const ReadOp read = client_.Read("1");
  EXPECT_FALSE(read.locked);
  EXPECT_EQ(read.released, one.grant.lock_id);
  EXPECT_EQ(read.version, 2) << "a share writes nothing";
  EXPECT_EQ(Rows("r"), 0);
}

TEST_F(SqliteShares, ARenewalProlongsOneShareAndTheLeaseOfTheDocument) {
  const AcquireOp one = client_.Share("1"), two = client_.Share("1");
  for (int i = 0; i < 3; ++i) {
    clock_->Advance(20s);
    ASSERT_EQ(client_.RenewShare("1", one.grant.lock_id).status, OpStatus::kDone) << i;
    ExpectBusy(client_.Acquire("1"), 30s);
  }
  EXPECT_EQ(client_.RenewShare("1", two.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(client_.ReleaseShare("1", two.grant.lock_id).status, OpStatus::kLost);
  // Programs that know nothing of shares see a lease that covers them.
  EXPECT_EQ(RawDatabase(file_).Number("SELECT ttl FROM doclock_l_things"), 30'000);
  clock_->Advance(30s);
  EXPECT_EQ(client_.RenewShare("1", one.grant.lock_id).status, OpStatus::kLost);
  EXPECT_TRUE(client_.Acquire("1").took_over);
  EXPECT_EQ(Rows("r"), 0);
  EXPECT_EQ(Rows("l"), 0);
}

TEST_F(SqliteShares, AShortRenewalLeavesTheLongerLeaseAlone) {
  const AcquireOp one = client_.Share("1", kMaxHolders, 60s), two = client_.Share("1");
  for (const std::chrono::milliseconds ttl : {10s, 1s}) {
    ASSERT_EQ(client_.RenewShare("1", one.grant.lock_id, ttl).status, OpStatus::kDone);
    ASSERT_EQ(client_.RenewShare("1", two.grant.lock_id, ttl).status, OpStatus::kDone);
  }
  EXPECT_EQ(client_.Read("1").remaining, 60s);
  EXPECT_EQ(RawDatabase(file_).Number("SELECT ttl FROM doclock_l_things"), 60'000);
}

TEST_F(SqliteShares, ARenewalOfAShareThatIsGoneProlongsNothing) {
  const AcquireOp one = client_.Share("1"), two = client_.Share("1");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client_.RenewShare("1", one.grant.lock_id).status, OpStatus::kDone);
    EXPECT_EQ(client_.RenewShare("1", two.grant.lock_id).status, OpStatus::kDone);
  }
  Client other(file_, {.sync = SqliteSync::kOff, .clock = clock_});
  EXPECT_EQ(other.ReleaseShare("1", one.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client_.RenewShare("1", one.grant.lock_id, 1h).status, OpStatus::kLost);
  EXPECT_EQ(RawDatabase(file_).Number("SELECT ttl FROM doclock_l_things"), 30'000);
}

TEST_F(SqliteShares, WhatIsLeftBehindByAnotherProgramMeansNothing) {
  client_.Share("1", 1);
  RawDatabase(file_).Run("UPDATE doclock_c_things SET lock_id=zeroblob(16)");
  EXPECT_EQ(client_.Share("1", 1).status, OpStatus::kDone);
  EXPECT_EQ(Rows("r"), 1);
  RawDatabase(file_).Run("DELETE FROM doclock_r_things");
  const AcquireOp held = client_.Acquire("1");
  EXPECT_EQ(held.status, OpStatus::kDone) << "it has no shares";
  client_.Share("2", 1);
  RawDatabase(file_).Run("DELETE FROM doclock_r_things");
  EXPECT_EQ(client_.Share("2", 1).status, OpStatus::kDone);
}

/// Waiting writers once left rows in a table of their own, and a mark in the document's.
TEST_F(SqliteShares, WhatWaitingWritersOnceLeftStopsNobody) {
  const AcquireOp reader = client_.Share("1");
  EXPECT_EQ(client_.ReleaseShare("1", reader.grant.lock_id).status, OpStatus::kDone);
  RawDatabase(file_).Run(
      "CREATE TABLE doclock_i_things(doc INTEGER PRIMARY KEY, intent BLOB NOT NULL);"
      "INSERT INTO doclock_i_things VALUES(1, randomblob(16));"
      "UPDATE doclock_c_things SET lock_slot=9223372036854775807");
  Client later(file_, {.sync = SqliteSync::kOff, .clock = clock_});
  EXPECT_EQ(later.Share("1").status, OpStatus::kDone);
}

TEST_F(SqliteShares, NothingIsLeftByWritesThatEndAllShares) {
  const auto over = [&] {
    client_.Share("1");
    client_.Share("1");
    EXPECT_EQ(Rows("r"), 2);
    clock_->Advance(60s);
  };
  over();
  const ReadOp read = client_.Read("1");
  const Key key("1");
  SaveOp save(client_.collection(), key);
  save.expected = read.version;
  save.born = read.born;
  save.write_id = NewUuid();
  save.body = Body::FromText("{}");
  client_.Execute(save);
  EXPECT_EQ(save.status, OpStatus::kDone) << Why(save);
  EXPECT_EQ(Rows("r"), 0);

  over();
  EXPECT_EQ(client_.store().Purge(client_.collection(), 10, kBudget), 1);
  EXPECT_EQ(Rows("r"), 0);

  for (const auto act : {testing::BreakLock, testing::StealLock}) {
    const AcquireOp share = client_.Share("1");
    ASSERT_EQ(share.status, OpStatus::kDone) << Why(share);
    act(client_.store(), "things", "1");
    EXPECT_EQ(Rows("r"), 0);
    EXPECT_EQ(client_.ReleaseShare("1", share.grant.lock_id).status, OpStatus::kLost);
  }
}

TEST_F(SqliteShares, AShareThatIsOverGoesWithAnotherThatIsReleasedInTheBackground) {
  client_.Share("1", kMaxHolders, 10s);
  // Looked at before the others.
  RawDatabase(file_).Run("UPDATE doclock_r_things SET share=x'00000000000000000000000000000001'");
  const AcquireOp two = client_.Share("1"), three = client_.Share("1");
  EXPECT_EQ(Rows("r"), 3);
  clock_->Advance(10s);
  const Key key("1");
  WriteOp release(client_.collection(), key);
  release.lock_id = two.grant.lock_id;
  release.mode = LockMode::kShared;
  release.release_id = NewUuid();
  client_.Execute(release);
  EXPECT_EQ(release.status, OpStatus::kDone) << Why(release);
  EXPECT_EQ(Rows("r"), 1);
  EXPECT_EQ(client_.ReleaseShare("1", three.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(Rows("r"), 0);
}

TEST_F(SqliteShares, AShareHasTheTimeOfDayAtWhichItWasGranted) {
  const auto now = [] {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const std::int64_t before = now();
  client_.Share("1");
  const std::int64_t wall = RawDatabase(file_).Number("SELECT wall FROM doclock_r_things");
  EXPECT_LE(before, wall);
  EXPECT_LE(wall, now());
}

/// Also to one who has room beside it.
TEST_F(SqliteShares, AMalformedShareIsNeverFreeAndSaysSo) {
  const std::vector<const char*> all{"ttl='long'",
                                     "ttl=1.5",
                                     "ttl=31536000001",
                                     "ttl=-1",
                                     "renewed=-1",
                                     "renewed='x'",
                                     "granted=-1",
                                     "granted='then'",
                                     "slot=-1",
                                     "slot='x'",
                                     "boot='x'",
                                     "boot=1.5",
                                     "owner='me'",
                                     "wall='noon'",
                                     "fence='x'",
                                     "share=x'01'",
                                     "share='0123456789abcdef'",
                                     "share=zeroblob(16)"};
  for (const char* spoilt : all) {
    SCOPED_TRACE(spoilt);
    const Key key(spoilt);
    const AcquireOp share = client_.Share(key);
    ASSERT_EQ(share.status, OpStatus::kDone) << Why(share);
    RawDatabase(file_).Run(std::string("UPDATE doclock_r_things SET ") + spoilt +
                           " WHERE doc=(SELECT max(id) FROM doclock_c_things)");
    clock_->Advance(60s);
    ExpectMalformed(client_.Acquire(key));
    ExpectMalformed(client_.Share(key, 1));
    ExpectMalformed(client_.Share(key));
    ExpectMalformed(client_.Read(key));
  }
  EXPECT_EQ(client_.store().Purge(client_.collection(), 10, kBudget), 0);
  const auto rows = List();
  EXPECT_EQ(rows.size(), all.size());
  for (const LockRow& row : rows) EXPECT_TRUE(row.malformed && row.live);
  EXPECT_EQ(client_.Share("good").status, OpStatus::kDone);
}

TEST_F(SqliteShares, AUniqueIndexOfAnotherProgramIsTold) {
  client_.Insert("1");
  RawDatabase(file_).Run("CREATE UNIQUE INDEX theirs ON doclock_r_things(doc)");
  EXPECT_EQ(client_.Share("1").status, OpStatus::kDone);
  const AcquireOp second = client_.Share("1");
  EXPECT_EQ(second.status, OpStatus::kFailed);
  EXPECT_EQ(second.detail->code, Errc::kMalformed);
  RawDatabase(file_).Run("DROP INDEX theirs");
  EXPECT_EQ(client_.Share("1").status, OpStatus::kDone);
}

TEST_F(SqliteShares, ManySharesOfFewDocumentsComeInPages) {
  for (int i = 0; i < 4; ++i) {
    for (int n = 0; n < 350; ++n) client_.Share(std::int64_t{i});
  }
  std::size_t rows = 0, pages = 0;
  std::string after;
  do {
    const LockPage page = client_.store().ListLocks(client_.collection(), {}, after, kBudget);
    rows += page.rows.size();
    EXPECT_LT(page.rows.size(), 1000U + 350U);
    after = page.next;
    ++pages;
  } while (!after.empty());
  EXPECT_EQ(rows, 1400U);
  EXPECT_EQ(pages, 2U);
}

class SqliteSharers : public SqliteTest {
 protected:
  void SetUp() override { DOCLOCK_NEEDS_COORDINATOR(); }
  Child Sharer(const char* limit) {
    Child child({"share", file_.string(), "1", "3600000", limit});
    EXPECT_EQ(child.Line(), "held");
    return child;
  }

  Client client_{file_};
};

TEST_F(SqliteSharers, TheShareOfTheDeadIsFreeAtOnce) {
  Child one = Sharer("2"), two = Sharer("2");
  EXPECT_EQ(client_.Share("1", 2).status, OpStatus::kBusy);
  one.Kill();
  const AcquireOp mine = client_.Share("1", 2);
  EXPECT_EQ(mine.status, OpStatus::kDone) << Why(mine);
  EXPECT_EQ(client_.Share("1", 2).status, OpStatus::kBusy);
  EXPECT_EQ(client_.ReleaseShare("1", mine.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy);
  two.Kill();
  const AcquireOp held = client_.Acquire("1");
  EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_TRUE(held.took_over);
}

TEST_F(SqliteSharers, TheReleaseOfOneOfManyRingsInOtherProcesses) {
  std::mutex mutex;
  std::condition_variable rang;
  bool heard = false;
  Child one = Sharer("3"), two = Sharer("3");
  const auto watch = client_.store().Watch(client_.collection(), [&](const LockHint&) {
    const std::lock_guard guard(mutex);
    heard = true;
    rang.notify_all();
  });
  one.Say("release");
  EXPECT_EQ(one.Line(), "released");
  std::unique_lock lock(mutex);
  EXPECT_TRUE(rang.wait_for(lock, 5min, [&] { return heard; }));
}

TEST_F(SqliteSharers, EightProcessesAreNeverMoreThanThree) {
  const std::string times = std::to_string(Rounds(150));
  std::list<Child> children;
  for (int i = 0; i < 8; ++i) {
    children.emplace_back(std::vector<std::string>{"crowd", file_.string(), "1", "3", times});
  }
  for (Child& child : children) ASSERT_EQ(child.Line(), "ready");
  for (Child& child : children) child.Say("go");
  int most = 0;
  for (Child& child : children) most = std::max(most, std::stoi(child.Line().value_or("99")));
  EXPECT_EQ(most, 3) << "the limit, and it was reached";
}

}  // namespace
}  // namespace doclock::sqlite_test
