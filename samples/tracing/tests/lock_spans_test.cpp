#include "lock_spans.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doclock/doclock.h"
#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "recorded_spans.h"

namespace doclock::samples {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::ElementsAre;

class LockSpansTest : public ::testing::Test {
 protected:
  LockSpansTest() { documents_.Insert("a", json::object()); }

  [[nodiscard]] std::vector<RecordedSpan> Spans() const {
    clock_->RunPending();
    return spans_->all();
  }
  [[nodiscard]] std::vector<std::string> Outcomes() const {
    std::vector<std::string> outcomes;
    for (const RecordedSpan& span : Spans())
      outcomes.push_back(span.attributes.at("doclock.outcome"));
    return outcomes;
  }

  std::shared_ptr<doclock::testing::ManualClock> clock_ =
      std::make_shared<doclock::testing::ManualClock>();
  std::shared_ptr<RecordedSpans> spans_ = std::make_shared<RecordedSpans>();
  std::shared_ptr<doclock::testing::FaultyStore> store_ =
      std::make_shared<doclock::testing::FaultyStore>(OpenMemoryStore({.clock = clock_}));
  LockManager manager_{
      store_, {.observer = std::make_shared<LockSpans>(spans_), .runtime = clock_->runtime()}};
  LockManager other_{store_, {.runtime = clock_->runtime()}};
  LockingRepository<json> documents_{manager_, "documents"};
  LockingRepository<json> theirs_{other_, "documents"};
};

TEST_F(LockSpansTest, LastFromTheWaitToTheRelease) {
  std::optional<Locked<json>> theirs = theirs_.TryLock("a");
  auto ours = documents_.LockAsync("a", {.wait = 1min}, boost::asio::use_future);
  clock_->Advance(7s);
  theirs->Release();
  clock_->Advance(1s);
  Locked<json> held = ours.get();
  clock_->Advance(5s);
  held.Release();
  ASSERT_EQ(Spans().size(), 1U);
  const RecordedSpan span = Spans().front();
  EXPECT_EQ(span.name, "doclock.lock");
  EXPECT_FALSE(span.error);
  EXPECT_EQ(span.attributes.at("doclock.collection"), "documents");
  EXPECT_EQ(span.attributes.at("doclock.key"), "a");
  EXPECT_EQ(span.attributes.at("doclock.outcome"), "released");
  EXPECT_EQ(span.attributes.at("doclock.handed_over"), "false");
  EXPECT_GE(std::stoi(span.attributes.at("doclock.waited_ms")), 7000);
  EXPECT_THAT(span.events, ElementsAre("granted"));
  EXPECT_GE(span.duration, 13s - 1ms);
  EXPECT_LE(span.duration, 14s);
}

TEST_F(LockSpansTest, TellTheWaysInWhichALockEnds) {
  documents_.Lock("a").Release();
  documents_.Lock("a").Discard();
  documents_.Lock("a", {.ttl = 1s}).Detach();
  clock_->Advance(2s);
  EXPECT_THAT(Outcomes(), ElementsAre("released", "discarded", "detached"));
}

TEST_F(LockSpansTest, TellALostLockAsAnError) {
  const Locked<json> held = documents_.Lock("a", {.ttl = 9s});
  doclock::testing::StealLock(*store_, "documents", "a");
  clock_->Advance(10s);
  EXPECT_THAT(Outcomes(), ElementsAre("lost"));
  EXPECT_TRUE(Spans().front().error);
}

TEST_F(LockSpansTest, TellAttemptsThatGotNoLock) {
  const Locked<json> theirs = theirs_.Lock("a");
  EXPECT_FALSE(documents_.TryLock("a"));
  EXPECT_FALSE(documents_.TryLock("a", {.wait = 3s}));
  EXPECT_THAT(Outcomes(), ElementsAre("busy", "timed out"));
  EXPECT_FALSE(Spans().front().error);
  EXPECT_TRUE(Spans().back().error);
}

TEST_F(LockSpansTest, KeepTwoDocumentsApart) {
  documents_.Insert("b", json::object());
  Locked<json> a = documents_.Lock("a");
  Locked<json> b = documents_.Lock("b");
  b.Release();
  a.Discard();
  ASSERT_THAT(Outcomes(), ElementsAre("released", "discarded"));
  EXPECT_EQ(Spans().front().attributes.at("doclock.key"), "b");
  EXPECT_EQ(Spans().back().attributes.at("doclock.key"), "a");
}

}  // namespace
}  // namespace doclock::samples
