#include <condition_variable>
#include <mutex>

#include "doclock/errors.h"
#include "doclock/testing/intervene.h"
#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, APurgeClearsExpiredLocksAndOnlyThose) {
  const AcquireOp dead = things_.Create("dead", {{"a", 1}}, {.ttl = 1s});
  const AcquireOp live = things_.Create("live", {}, {.ttl = 60s});
  things_.Insert("free", {});
  clock().Advance(1s);
  EXPECT_EQ(things_.Purge(), 1);
  EXPECT_EQ(things_.Purge(), 0);
  const ReadOp read = things_.Read("dead");
  EXPECT_TRUE(read.lock_id.is_nil());
  EXPECT_EQ(read.version, dead.version);
  EXPECT_EQ(read.born, dead.born);
  EXPECT_EQ(read.body.json(), Json({{"a", 1}}));
  EXPECT_EQ(things_.Read("live").lock_id, live.grant.lock_id);
  EXPECT_EQ(things_.Release("live", live).status, OpStatus::kDone);
  EXPECT_EQ(things_.Release("dead", dead).status, OpStatus::kLost);
}

TEST_P(StoreConformance, TheVersionSurvivesAPurge) {
  const AcquireOp dead = things_.Create("dead");
  clock().Advance(kTtl);
  things_.Purge();
  EXPECT_EQ(things_.Acquire("dead").version, dead.version + 1);
}

TEST_P(StoreConformance, APurgeKeepsToItsLimit) {
  for (int i = 0; i < 10; ++i) things_.Create(i);
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Purge(4), 4);
  EXPECT_EQ(things_.Purge(100), 6);
}

TEST_P(StoreConformance, ExpireLockEndsALeaseUntaken) {
  const AcquireOp grant = things_.Create("42");
  testing::ExpireLock(store(), "things", "42");
  const ReadOp read = things_.Read("42");
  EXPECT_FALSE(read.locked);
  EXPECT_EQ(read.lock_id, grant.grant.lock_id);
  EXPECT_EQ(things_.Renew("42", grant.grant.lock_id).status, OpStatus::kLost);
  EXPECT_TRUE(things_.Acquire("42").took_over);
}

TEST_P(StoreConformance, StealLockGivesTheLockToAStranger) {
  const AcquireOp grant = things_.Create("42");
  testing::StealLock(store(), "things", "42");
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.locked);
  EXPECT_EQ(read.version, grant.version + 1);
  EXPECT_TRUE(clock().IsLeft(read.remaining, 30s));
  EXPECT_NE(read.lock_id, grant.grant.lock_id);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kLost);
}

TEST_P(StoreConformance, AFreeLockCanBeStolen) {
  things_.Insert("42", {});
  things_.Steal("42");
  EXPECT_TRUE(things_.Read("42").locked);
}

TEST_P(StoreConformance, ABreakClearsTheLockAndRaisesTheVersion) {
  const AcquireOp grant = things_.Create("42");
  things_.Break("42");
  EXPECT_EQ(things_.Read("42").version, grant.version + 1);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kLost);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(StoreConformance, TheTestingKitSaysWhatIsMissing) {
  for (const auto act : {testing::ExpireLock, testing::BreakLock, testing::StealLock}) {
    EXPECT_THROW(act(store(), "things", "42"), NotFoundException);
    EXPECT_THROW(act(store(), "nothing", "42"), NotFoundException);
  }
  things_.Insert("42", {});
  for (const auto act : {testing::ExpireLock, testing::BreakLock}) {
    try {
      act(store(), "things", "42");
      ADD_FAILURE() << "it is not locked";
    } catch (const LockException& error) {
      EXPECT_EQ(error.errc(), Errc::kNotOwner);
    }
  }
}

/// Counts hints, which may come on a thread of the store's.
class Hints {
 public:
  void Add() {
    const std::lock_guard guard(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void Clear() {
    const std::lock_guard guard(mutex_);
    count_ = 0;
  }
  /// True as soon as one has come. The bound is for stores that are broken.
  bool Wait() {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, 5min, [this] { return count_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class HintConformance : public StoreConformance {
 protected:
  HintConformance() {
    subscription_ = store().Watch(things_.collection(), [this](const LockHint&) { hints_.Add(); });
  }
  void SetUp() override {
    if (!subscription_) GTEST_SKIP() << "this store has no hints";
  }

  Hints hints_;
  std::unique_ptr<Subscription> subscription_;
};

TEST_P(HintConformance, ComeWithARelease) {
  const AcquireOp grant = things_.Create("42");
  hints_.Clear();
  things_.Release("42", grant);
  EXPECT_TRUE(hints_.Wait());
}

TEST_P(HintConformance, ComeWithAnErase) {
  const AcquireOp grant = things_.Create("42");
  hints_.Clear();
  things_.Write("42", WriteKind::kErase, grant.grant.lock_id);
  EXPECT_TRUE(hints_.Wait());
}

TEST_P(HintConformance, ComeWithAnInsertAndASave) {
  hints_.Clear();
  const SaveOp insert = things_.Insert("42", {{"a", 1}});
  EXPECT_TRUE(hints_.Wait());
  hints_.Clear();
  ASSERT_EQ(things_.Replace("42", 1, insert.born, {{"a", 2}}).status, OpStatus::kDone);
  EXPECT_TRUE(hints_.Wait());
}

TEST_P(HintConformance, ComeWithABreak) {
  things_.Create("42");
  hints_.Clear();
  things_.Break("42");
  EXPECT_TRUE(hints_.Wait());
}

TEST_P(HintConformance, NameTheKeyOrNothing) {
  const AcquireOp grant = things_.Create("42");
  subscription_.reset();
  std::mutex mutex;
  std::vector<std::optional<std::size_t>> seen;
  Hints some;
  subscription_ = store().Watch(things_.collection(), [&](const LockHint& hint) {
    const std::lock_guard guard(mutex);
    seen.push_back(hint.hash);
    some.Add();
  });
  things_.Release("42", grant);
  ASSERT_TRUE(some.Wait());
  subscription_.reset();
  for (const auto& hash : seen) EXPECT_EQ(hash.value_or(Key("42").Hash()), Key("42").Hash());
}

TEST_P(HintConformance, MayOutliveTheStore) {
  things_.Create("42");
  backend().store = nullptr;
  backend().open_another = nullptr;
  subscription_.reset();
}

INSTANTIATE_TEST_SUITE_P(Stores, HintConformance, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
