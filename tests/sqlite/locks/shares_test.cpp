// Shared locks on SQLite: how they are stored, and the life of the sharers' processes.

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>

#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteShares : public SqliteTest {
 protected:
  /// A line for each share.
  std::int64_t Stored() {
    return RawDatabase(file_).Number(
        "SELECT coalesce(length(lock_shares) - length(replace(lock_shares, char(10), '')), 0) "
        "FROM doclock_l_things");
  }

  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  Client client_{file_, {.sync = SqliteSync::kNormal, .clock = clock_}};
};

TEST_F(SqliteShares, NothingIsLeftByWritesThatEndAllShares) {
  const auto over = [&] {
    client_.Share("1");
    client_.Share("1");
    EXPECT_EQ(Stored(), 2);
    clock_->Advance(60s);
  };
  over();
  const ReadOp read = client_.Read("1");
  const SaveOp save = client_.Replace("1", read.result.version, read.result.born, {});
  EXPECT_EQ(save.status, OpStatus::kDone) << Why(save);
  EXPECT_EQ(Stored(), 0);

  over();
  EXPECT_EQ(client_.Purge(), 1);
  EXPECT_EQ(Stored(), 0);

  for (const auto act : {testing::BreakLock, testing::StealLock}) {
    const AcquireOp share = client_.Share("1");
    ASSERT_EQ(share.status, OpStatus::kDone) << Why(share);
    act(client_.store(), "things", "1");
    EXPECT_EQ(Stored(), 0);
    EXPECT_EQ(client_.ReleaseShare("1", share.request.grant.lock_id).status, OpStatus::kLost);
  }
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
  EXPECT_EQ(client_.ReleaseShare("1", mine.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy);
  two.Kill();
  const AcquireOp held = client_.Acquire("1");
  EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_TRUE(held.result.took_over);
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
