#include "doclock/open_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "conformance/suite/client.h"

namespace doclock::memory {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

class MemoryStoreTest : public ::testing::Test {
 protected:
  AcquireOp Acquire(const Key& key) {
    return things_.Acquire(key, {.insert = Body::FromJson({{"count", 0}})});
  }
  /// One increment under the lock; false if it was busy.
  bool Increment(const Key& key) {
    const AcquireOp grant = Acquire(key);
    if (grant.status != OpStatus::kDone) return false;
    Json tree = grant.result.body.json();
    tree["count"] = tree["count"].get<int>() + 1;
    EXPECT_EQ(things_.Release(key, grant, Body::FromJson(std::move(tree))).status, OpStatus::kDone);
    return true;
  }
  int CountOf(const Key& key) { return things_.Read(key).result.body.json().at("count"); }

  std::shared_ptr<Store> store_ = OpenMemoryStore();
  conformance::Client things_{store_};
};

TEST_F(MemoryStoreTest, TextThatIsNoJsonTakesThePlaceOfOther) {
  const Key key("1");
  for (const char* const text : {"{", "[", R"({"n":1})"}) {
    const AcquireOp grant = Acquire(key);
    ASSERT_EQ(grant.status, OpStatus::kDone);
    ASSERT_EQ(things_.Release(key, grant, Body::FromText(text)).status, OpStatus::kDone);
    EXPECT_EQ(things_.Read(key).result.body.text(), text);
  }
}

TEST_F(MemoryStoreTest, WorksByTheRealClockToo) {
  EXPECT_TRUE(Increment("42"));
  EXPECT_EQ(CountOf("42"), 1);
}

TEST_F(MemoryStoreTest, IsImmediateAndOfThisProcess) {
  EXPECT_TRUE(store_->traits().immediate);
  EXPECT_FALSE(store_->traits().shared);
  EXPECT_FALSE(store_->traits().others_may_wait);
}

TEST_F(MemoryStoreTest, HandsOutTheBodyItselfAndNoCopy) {
  const Body body = Body::FromJson({{"a", 1}});
  things_.InsertBody("42", body);
  EXPECT_EQ(&Acquire("42").result.body.json(), &body.json());
}

TEST_F(MemoryStoreTest, AnIndexNeedsGoodFields) {
  EXPECT_THROW(things_.EnsureIndex({}), std::invalid_argument);
  EXPECT_THROW(things_.EnsureIndex({{"a", ""}, false}), std::invalid_argument);
  EXPECT_THROW(things_.EnsureIndex({{"a..b"}, false}), std::invalid_argument);
}

TEST_F(MemoryStoreTest, ABodyThatIsNoJsonDoesNotAffectOthers) {
  things_.InsertBody("bad", Body::FromText("not JSON"));
  things_.Insert("good", {{"a", 1}});
  things_.EnsureIndex({{"a"}, false});
  EXPECT_EQ(things_.Query(Filter().AtLeast("a", 0).OrderBy("a")), std::vector<Key>{"good"});
}

TEST_F(MemoryStoreTest, QueriesPurgesAndIndexesRunBesideWriters) {
  std::atomic<bool> stop{false};
  std::jthread reader([&] {
    while (!stop) {
      (void)things_.Rows(Filter().OrderBy("count"));
      things_.Purge();
      things_.EnsureIndex({{"count"}, false});
    }
  });
  std::vector<std::jthread> writers;
  for (int thread = 0; thread < 3; ++thread) {
    writers.emplace_back([&, thread] {
      for (int i = 0; i < 300; ++i) Increment(thread * 1000 + i % 20);
    });
  }
  writers.clear();
  stop = true;
  reader.join();
  EXPECT_EQ(CountOf(1000), 15);
}

TEST_F(MemoryStoreTest, AListenerThatThrowsKeepsNoHintFromOthers) {
  int hints = 0;
  const auto count = [&](const LockHint& /*hint*/) { ++hints; };
  const auto before = store_->Watch(things_.collection(), count);
  const auto throws =
      store_->Watch(things_.collection(), [](const LockHint& /*hint*/) { throw std::bad_alloc(); });
  const auto after = store_->Watch(things_.collection(), count);
  things_.Insert("42", {});
  EXPECT_EQ(hints, 2);
}

TEST_F(MemoryStoreTest, NoHintComesAfterASubscriptionEnded) {
  std::atomic<bool> stop{false};
  std::jthread writer([&] {
    while (!stop) Increment("42");
  });
  for (int i = 0; i < 200; ++i) {
    auto alive = std::make_unique<std::atomic<int>>(0);
    auto subscription =
        store_->Watch(things_.collection(), [seen = alive.get()](const LockHint&) { ++*seen; });
    subscription.reset();
    alive.reset();  // a hint that came now would be seen by the sanitizers
  }
  stop = true;
}

}  // namespace
}  // namespace doclock::memory
