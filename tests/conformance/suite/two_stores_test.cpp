#include <mutex>
#include <set>
#include <thread>

#include "store_conformance.h"

namespace doclock::conformance {
namespace {

class TwoStores : public OnTwoStores<StoreConformance> {};

TEST_P(TwoStores, ExcludeEachOther) {
  const AcquireOp grant = things_.Create("42", {}, {.owner = "alice"});
  const AcquireOp second = others_->Acquire("42");
  ASSERT_EQ(second.status, OpStatus::kBusy);
  EXPECT_EQ(second.detail->holder.name, "alice");
  EXPECT_TRUE(clock().IsLeft(second.detail->remaining, kTtl));
  things_.Release("42", grant);
  EXPECT_EQ(others_->Acquire("42").status, OpStatus::kDone);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
}

TEST_P(TwoStores, SeeEachOthersWrites) {
  const AcquireOp grant = things_.Create("42", {{"a", 1}});
  EXPECT_EQ(others_->Read("42").body.json(), Json({{"a", 1}}));
  things_.Release("42", grant, MakeBody({{"a", 2}}));
  const ReadOp read = others_->Read("42");
  EXPECT_EQ(read.body.json(), Json({{"a", 2}}));
  EXPECT_EQ(read.version, 2);
  EXPECT_EQ(others_->Replace("42", 2, read.born, {{"a", 3}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 3}}));
}

TEST_P(TwoStores, TakeOverExpiredLocksOfEachOther) {
  const AcquireOp first = things_.Create("42");
  clock().Advance(kTtl);
  EXPECT_TRUE(others_->Acquire("42").took_over);
  EXPECT_EQ(things_.Renew("42", first.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", first).status, OpStatus::kLost);
}

TEST_P(TwoStores, NeverTakeTheSameNextDocument) {
  for (int i = 0; i < 10; ++i) things_.Insert(i, {{"n", i}});
  for (int i = 0; i < 10; i += 2) {
    EXPECT_EQ(things_.AcquireNext(Filter().OrderBy("n")).key, Key(i));
    EXPECT_EQ(others_->AcquireNext(Filter().OrderBy("n")).key, Key(i + 1));
  }
}

TEST_P(TwoStores, DoNotPurgeEachOthersLiveLocks) {
  const AcquireOp grant = things_.Create("42");
  EXPECT_EQ(others_->Purge(), 0);
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
}

TEST_P(TwoStores, TellEachOtherOfInsertsAndSaves) {
  if (!others_->traits().queues) GTEST_SKIP() << "waiters of other processes poll";
  std::mutex mutex;
  std::set<std::size_t> told;
  const auto subscription = other_store_->Watch(others_->collection(), [&](const LockHint& hint) {
    const std::lock_guard guard(mutex);
    if (hint.hash) told.insert(*hint.hash);
  });
  const auto is_told_soon = [&](const Key& key) {
    for (int i = 0; i < 1000; ++i) {
      {
        const std::lock_guard guard(mutex);
        if (told.erase(key.Hash()) == 1) return true;
      }
      std::this_thread::sleep_for(1ms);
    }
    return false;
  };
  // The first ones may come before the other store is known to listen.
  std::int64_t key = 0;
  Uuid born = things_.Insert(key, {}).born;
  while (!is_told_soon(key) && key < 60) born = things_.Insert(++key, {}).born;
  ASSERT_LT(key, 60);
  ASSERT_EQ(things_.Replace(key, 1, born, {{"a", 1}}).status, OpStatus::kDone);
  EXPECT_TRUE(is_told_soon(key)) << "of the save";
}

INSTANTIATE_TEST_SUITE_P(Stores, TwoStores, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
