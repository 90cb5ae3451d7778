/// A store that reads apart from writes: no call that writes delays a read, or takes it along.

#include <chrono>
#include <future>
#include <stdexcept>

#include "engine/support/hanging_store.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// Generous: the machine may have much else to do.
constexpr auto kReplyTimeout = 5min;

class ReadsApartTest : public ManagerTest {
 protected:
  ReadsApartTest() {
    manager.emplace(store, ManagerOptions{.drain_timeout = 100ms});
    collection = store->Open("orders", {}, 30s).get();
    EXPECT_FALSE(Insert("a", {{"n", 1}}));
  }
  ~ReadsApartTest() override { store->LetGo(); }

  /// Calls that write: the only lane is taken, and more wait for it; so do searches.
  void HangWrites() {
    store->Hang({CallKind::kBatch, CallKind::kSearch});
    for (const char* key : {"a", "b", "c"}) {
      AcquireAsync(engine(), Spec(key, {.wait = kForever}), [](AcquireResult) {});
      AcquireNextAsync(engine(), Spec({}, {.wait = kForever}), [](AcquireResult) {});
    }
    ASSERT_TRUE(store->AwaitHanging(2));
  }
  std::future<ReadResult> Reading(const Key& key) {
    const auto told = std::make_shared<std::promise<ReadResult>>();
    ReadAsync(engine(), *collection, key,
              [told](ReadResult result) { told->set_value(std::move(result)); });
    return told->get_future();
  }
  std::future<QueryResult> Querying() {
    const auto told = std::make_shared<std::promise<QueryResult>>();
    QueryAsync(engine(), *collection, Filter{},
               [told](QueryResult result) { told->set_value(std::move(result)); });
    return told->get_future();
  }
  /// Does it come before the calls that hang are let go?
  template <class T>
  bool Comes(const std::future<T>& future) {
    const bool came = future.wait_for(kReplyTimeout) == std::future_status::ready;
    store->LetGo();
    return came;
  }

  std::shared_ptr<HangingStore> store = std::make_shared<HangingStore>(/*reads_apart=*/true);
};

TEST_F(ReadsApartTest, ABlockingReadIsAnsweredWhileWritesHang) {
  HangWrites();
  auto read = std::async(std::launch::async, [&] { return Read(engine(), *collection, "a"); });
  ASSERT_TRUE(Comes(read));
  EXPECT_EQ(read.get().version, 1);
}

TEST_F(ReadsApartTest, AnAsynchronousReadIsAnsweredWhileWritesHang) {
  HangWrites();
  auto read = Reading("a");
  ASSERT_TRUE(Comes(read));
  EXPECT_EQ(read.get().version, 1);
}

TEST_F(ReadsApartTest, AQueryIsAnsweredWhileSearchesHang) {
  HangWrites();
  auto query = Querying();
  ASSERT_TRUE(Comes(query));
  EXPECT_EQ(query.get().rows.size(), 1U);
}

TEST_F(ReadsApartTest, AReadIsAnsweredWhileQueriesHang) {
  store->Hang({CallKind::kQuery});
  for (int i = 0; i < 20; ++i) (void)Querying();
  ASSERT_TRUE(store->AwaitHanging(1));
  EXPECT_TRUE(Comes(Reading("a")));
}

TEST_F(ReadsApartTest, ReadsThatHangKeepNoWriteWaiting) {
  store->Hang({CallKind::kReads});
  for (int i = 0; i < 20; ++i) (void)Reading("a");
  ASSERT_TRUE(store->AwaitHanging(1));
  const auto told = std::make_shared<std::promise<bool>>();
  AcquireAsync(engine(), Spec("a"),
               [told](AcquireResult result) { told->set_value(!result.failure); });
  auto locked = told->get_future();
  ASSERT_TRUE(Comes(locked));
  EXPECT_TRUE(locked.get());
}

TEST_F(ReadsApartTest, ReadsThatQueueTravelTogether) {
  constexpr int kReads = 50;
  for (int i = 0; i < kReads; ++i) {
    EXPECT_FALSE(Insert("read " + std::to_string(i), {{"n", i}}));
  }
  store->Hang({CallKind::kReads});
  std::vector<std::future<ReadResult>> reads;
  reads.push_back(Reading("a"));
  ASSERT_TRUE(store->AwaitHanging(1));
  for (int i = 0; i < kReads; ++i) reads.push_back(Reading("read " + std::to_string(i)));
  store->LetGo();
  for (auto& read : reads) EXPECT_FALSE(read.get().failure);
  EXPECT_LE(store->read_calls, 5) << "16 at once";
}

TEST_F(ReadsApartTest, AReadThatTheStoreThrowsOutOfIsUnavailable) {
  class ThrowingStore final : public testing::FaultyStore {
   public:
    ThrowingStore() : FaultyStore(OpenMemoryStore()) {}
    StoreTraits traits() const noexcept override {
      return {.immediate = false, .reads_apart = true};
    }
    void Execute(std::span<StoreOp* const>, std::chrono::milliseconds) override {
      throw std::runtime_error("out of order");
    }
  };
  const auto throwing = std::make_shared<ThrowingStore>();
  const LockManager other(throwing);
  const ReadResult read = Read(other.engine(), *throwing->Open("orders", {}, 30s), "a");
  EXPECT_EQ(CodeOf(read), Errc::kUnavailable);
}

}  // namespace
}  // namespace doclock::detail
