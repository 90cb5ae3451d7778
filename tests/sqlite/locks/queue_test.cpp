// The queue of waiters: what of it counts.

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "sqlite/db/faulty_files.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

class SqliteQueue : public SqliteTest {
 protected:
  Client Opened() { return Client(file_, {.sync = SqliteSync::kNormal, .clock = clock_}); }
  int Waiting() { return client_.Locks().at(0).waiting; }
  std::string Stored() {
    return RawDatabase(file_).Text("SELECT coalesce(lock_queue, '') FROM doclock_l_things");
  }
  Uuid HolderOf(const Key& key) { return client_.Read(key).result.lock_id; }

  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  Client client_ = Opened();
};

TEST_F(SqliteQueue, TheGrantNamesTheWaitersProcess) {
  DOCLOCK_NEEDS_COORDINATOR();
  auto waiting = std::make_unique<Client>(Opened());
  for (const bool detached : {false, true}) {
    const AcquireOp held = client_.Create("1");
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    ASSERT_TRUE(waiting->Acquire("1", {.id = NewUuid(), .queue_for = 20s, .detached = detached})
                    .result.queued);
    ASSERT_EQ(client_.Release("1", held).status, OpStatus::kDone);
    const auto slot = RawDatabase(file_).Number("SELECT lock_slot FROM doclock_l_things");
    EXPECT_EQ(slot == 0, detached) << "of a store: the lock ends with it";
    EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy);
    waiting = std::make_unique<Client>(Opened());  // as the death of the process
    EXPECT_EQ(client_.Acquire("1").status, detached ? OpStatus::kBusy : OpStatus::kDone);
    clock_->Advance(1h);
    testing::BreakLock(client_.store(), "things", "1");
  }
}

TEST_F(SqliteQueue, TheEntryOfADeadProcessIsDropped) {
  DOCLOCK_NEEDS_COORDINATOR();
  const Uuid second = NewUuid();
  const AcquireOp held = client_.Create("1");
  {
    Client dead = Opened();
    EXPECT_TRUE(
        dead.Acquire("1", {.id = NewUuid(), .queue_for = 20s, .detached = true}).result.queued);
  }
  EXPECT_EQ(client_.Wait("1", second).result.ahead, 0);
  EXPECT_EQ(Waiting(), 1) << "the dead one is dropped when it is met";
  client_.Release("1", held);
  EXPECT_EQ(HolderOf("1"), second);
}

TEST_F(SqliteQueue, AnEntryOfAnEarlierEraIsDropped) {
  DOCLOCK_NEEDS_COORDINATOR();
  const AcquireOp held = client_.Create("1");
  client_.Wait("1", NewUuid());
  RawDatabase(file_).Run("UPDATE doclock_l_things SET lock_era = lock_era - 1");
  client_.Release("1", held);
  EXPECT_TRUE(HolderOf("1").is_nil());
  EXPECT_EQ(Stored(), "");
}

/// What was said of it must not be relied on.
TEST_F(SqliteQueue, AFailedCommitLeavesNoEntry) {
  FaultyFiles files;
  Client client(file_);
  client.Create("1");
  const Uuid waiter = NewUuid();
  FaultyFiles::FailCommit();
  const AcquireOp refused = client.Wait("1", waiter);
  EXPECT_EQ(refused.status, OpStatus::kInDoubt) << Why(refused);
  EXPECT_FALSE(refused.result.queued);
  EXPECT_EQ(client.Leave("1", waiter).status, OpStatus::kLost);
  EXPECT_TRUE(client.Wait("1", waiter).result.queued);
}

TEST_F(SqliteQueue, AWaiterWhoseLeavingWasNotCommittedHasNotLeft) {
  FaultyFiles files;
  Client client(file_);
  client.Create("1");
  const Uuid waiter = NewUuid();
  client.Wait("1", waiter);
  FaultyFiles::FailCommit();
  EXPECT_EQ(client.Leave("1", waiter).status, OpStatus::kInDoubt);
  EXPECT_EQ(client.Leave("1", waiter).status, OpStatus::kDone);
}

/// Hints that came to a store.
class Heard {
 public:
  explicit Heard(const Client& client)
      : watch_(client.store().Watch(client.collection(), [this](const LockHint& hint) {
          const std::lock_guard guard(mutex_);
          keys_.push_back(hint.hash.value_or(0));
          changed_.notify_all();
        })) {}
  bool Await(const Key& key) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 5min, [&] { return Has(key); });
  }
  bool HasHeard(const Key& key) {
    const std::lock_guard guard(mutex_);
    return Has(key);
  }

 private:
  [[nodiscard]] bool Has(const Key& key) const {
    return std::find(keys_.begin(), keys_.end(), key.Hash()) != keys_.end();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> keys_;
  std::unique_ptr<Subscription> watch_;  // the first to go
};

TEST_F(SqliteQueue, OnlyTheProcessThatWasGrantedTheLockIsTold) {
  DOCLOCK_NEEDS_COORDINATOR();
  Client one = Opened(), two = Opened();
  Heard by_one(one), by_two(two);
  const AcquireOp held = client_.Create("1");
  one.Wait("1", NewUuid());
  two.Wait("1", NewUuid());
  client_.Release("1", held);
  EXPECT_TRUE(by_one.Await("1"));
  client_.Release("2", client_.Create("2"));
  EXPECT_TRUE(by_two.Await("2")) << "nobody waits for it: everybody is told";
  EXPECT_FALSE(by_two.HasHeard("1"));
}

/// Whoever meets a free lock that is another's tells that one.
TEST_F(SqliteQueue, AHelperTellsTheProcessThatItHelped) {
  DOCLOCK_NEEDS_COORDINATOR();
  Client one = Opened();
  client_.Acquire("1", {.insert = Body::FromText("{}"), .ttl = 1s});
  const Uuid first = NewUuid();
  one.Wait("1", first);
  Heard by_one(one);
  clock_->Advance(2s);
  EXPECT_EQ(client_.Acquire("1").status, OpStatus::kBusy);
  EXPECT_EQ(HolderOf("1"), first);
  EXPECT_TRUE(by_one.Await("1"));
}

}  // namespace
}  // namespace doclock::sqlite_test
