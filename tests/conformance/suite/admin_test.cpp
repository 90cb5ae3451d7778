#include <condition_variable>
#include <memory>
#include <mutex>

#include "doclock/errors.h"
#include "doclock/open_store.h"
#include "doclock/testing/faulty_store.h"
#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, TheTestingKitSaysThatACollectionIsMissing) {
  for (const auto act : {testing::ExpireLock, testing::BreakLock, testing::StealLock}) {
    EXPECT_THROW(act(store(), "nothing", "42"), NotFoundException);
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
  things_.Write("42", WriteKind::kErase, grant.request.grant.lock_id);
  EXPECT_TRUE(hints_.Wait());
}

TEST_P(HintConformance, ComeWithAnInsertAndASave) {
  hints_.Clear();
  const SaveOp insert = things_.Insert("42", {{"a", 1}});
  EXPECT_TRUE(hints_.Wait());
  hints_.Clear();
  ASSERT_EQ(things_.Replace("42", 1, insert.result.born, {{"a", 2}}).status, OpStatus::kDone);
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
  const std::weak_ptr<Store> store = backend().store;
  things_ = Client(OpenMemoryStore());
  backend().store = nullptr;
  backend().open_another = nullptr;
  EXPECT_TRUE(store.expired());
  subscription_.reset();
}

INSTANTIATE_TEST_SUITE_P(Stores, HintConformance, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
