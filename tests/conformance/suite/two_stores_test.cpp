#include <mutex>
#include <set>
#include <thread>

#include "store_conformance.h"

namespace doclock::conformance {
namespace {

class TwoStores : public OnTwoStores<StoreConformance> {};

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
