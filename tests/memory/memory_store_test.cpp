#include "doclock/memory_store.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "doclock/testing/manual_clock.h"

namespace doclock::memory {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

/// Runs the same function on several threads: f(number of the thread).
template <class F>
void OnThreads(int count, const F& f) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
}

class MemoryStoreTest : public ::testing::Test {
 protected:
  void Execute(StoreOp& op) {
    const std::array<StoreOp*, 1> batch{&op};
    store_->Execute(batch, 1s);
  }
  void Insert(const Key& key, Json tree) {
    SaveOp op(*collection_, key);
    op.save = SaveKind::kInsert;
    op.body = Body::FromJson(std::move(tree));
    Execute(op);
    ASSERT_EQ(op.status, OpStatus::kDone);
  }
  AcquireOp Acquire(const Key& key) {
    AcquireOp op(*collection_, key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = 30s;
    op.insert = Body::FromJson({{"count", 0}});
    Execute(op);
    return op;
  }
  OpStatus Release(const Key& key, const AcquireOp& grant, Body body) {
    WriteOp op(*collection_, key);
    op.lock_id = grant.grant.lock_id;
    op.expected = grant.version;
    op.body = std::move(body);
    Execute(op);
    return op.status;
  }
  /// One increment under the lock; false if it was busy.
  bool Increment(const Key& key) {
    const AcquireOp grant = Acquire(key);
    if (grant.status != OpStatus::kDone) return false;
    Json tree = grant.body.json();
    tree["count"] = tree["count"].get<int>() + 1;
    EXPECT_EQ(Release(key, grant, Body::FromJson(std::move(tree))), OpStatus::kDone);
    return true;
  }
  int CountOf(const Key& key) {
    ReadOp op(*collection_, key);
    Execute(op);
    return op.body.json().at("count");
  }

  std::shared_ptr<testing::ManualClock> clock_ = std::make_shared<testing::ManualClock>();
  std::shared_ptr<Store> store_ = OpenMemoryStore({.clock = clock_});
  std::shared_ptr<Collection> collection_ = store_->Open("things", {}, 30s);
};

TEST_F(MemoryStoreTest, TextThatIsNoJsonTakesThePlaceOfOther) {
  const Key key("1");
  for (const char* const text : {"{", "[", R"({"n":1})"}) {
    const AcquireOp grant = Acquire(key);
    ASSERT_EQ(grant.status, OpStatus::kDone);
    ASSERT_EQ(Release(key, grant, Body::FromText(text)), OpStatus::kDone);
    ReadOp read(*collection_, key);
    Execute(read);
    EXPECT_EQ(read.body.text(), text);
  }
}

TEST_F(MemoryStoreTest, WorksByTheRealClockToo) {
  store_ = OpenMemoryStore();
  collection_ = store_->Open("things", {}, 30s);
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
  const Key key("42");
  SaveOp save(*collection_, key);
  save.save = SaveKind::kInsert;
  save.body = body;
  Execute(save);
  EXPECT_EQ(&Acquire(key).body.json(), &body.json());
}

TEST_F(MemoryStoreTest, ANilLockIdIsRefused) {
  const Key key("42");
  AcquireOp op(*collection_, key);
  op.insert = Body::FromJson(Json::object());
  Execute(op);
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kRefused);
}

TEST_F(MemoryStoreTest, AnIndexNeedsGoodFields) {
  EXPECT_THROW(store_->EnsureIndex(*collection_, {}), std::invalid_argument);
  EXPECT_THROW(store_->EnsureIndex(*collection_, {{"a", ""}, false}), std::invalid_argument);
  EXPECT_THROW(store_->EnsureIndex(*collection_, {{"a..b"}, false}), std::invalid_argument);
}

TEST_F(MemoryStoreTest, ABodyThatIsNoJsonDoesNotAffectOthers) {
  const Key key("bad");
  SaveOp save(*collection_, key);
  save.save = SaveKind::kInsert;
  save.body = Body::FromText("not JSON");
  Execute(save);
  Insert("good", {{"a", 1}});
  std::vector<Key> found;
  const auto keep = [&](QueryRow&& row) {
    found.push_back(row.key);
    return true;
  };
  store_->EnsureIndex(*collection_, {{"a"}, false});
  store_->Query(*collection_, Filter().AtLeast("a", 0).OrderBy("a"), keep, 1s);
  EXPECT_EQ(found, std::vector<Key>{"good"});
}

TEST_F(MemoryStoreTest, QueriesPurgesAndIndexesRunBesideWriters) {
  std::atomic<bool> stop{false};
  std::jthread reader([&] {
    while (!stop) {
      const auto drop = [](QueryRow&&) { return true; };
      store_->Query(*collection_, Filter().OrderBy("count"), drop, 1s);
      store_->Purge(*collection_, 100, 1s);
      store_->EnsureIndex(*collection_, {{"count"}, false});
    }
  });
  OnThreads(3, [&](int thread) {
    for (int i = 0; i < 300; ++i) Increment(thread * 1000 + i % 20);
  });
  stop = true;
  reader.join();
  EXPECT_EQ(CountOf(1000), 15);
}

TEST_F(MemoryStoreTest, AListenerThatThrowsKeepsNoHintFromOthers) {
  int hints = 0;
  const auto count = [&](const LockHint& /*hint*/) { ++hints; };
  const auto before = store_->Watch(*collection_, count);
  const auto throws =
      store_->Watch(*collection_, [](const LockHint& /*hint*/) { throw std::bad_alloc(); });
  const auto after = store_->Watch(*collection_, count);
  Insert("42", {});
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
        store_->Watch(*collection_, [seen = alive.get()](const LockHint&) { ++*seen; });
    subscription.reset();
    alive.reset();  // a hint that came now would be seen by the sanitizers
  }
  stop = true;
}

}  // namespace
}  // namespace doclock::memory
