#include "harness.h"

namespace doclock::detail {
namespace {

class NextSearchTest : public EngineTest {
 protected:
  void Put(const Key& key, int due) {
    SaveSpec insert;
    insert.collection = collection;
    insert.key = key;
    insert.save = SaveKind::kInsert;
    insert.body = Body::FromJson({{"due", due}});
    ASSERT_FALSE(Save(engine(), std::move(insert)).failure);
  }
  AcquireSpec Next(LockOptions options = {}) {
    AcquireSpec spec = MakeSpec(engine(), *collection, options, 30s);
    spec.filter.AtMost("due", 100).OrderBy("due");
    return spec;
  }
};

TEST_F(NextSearchTest, TakesTheFirstFreeOneInOrderAndSkipsLiveLocks) {
  Put("late", 50);
  Put("early", 10);
  Put("not yet", 1000);
  const AcquireResult first = AcquireNext(engine(), Next(), {});
  const AcquireResult second = AcquireNext(engine(), Next(), {});
  const AcquireResult third = AcquireNext(engine(), Next(), {});
  ASSERT_TRUE(first.grant.lease && second.grant.lease);
  EXPECT_EQ(LeaseKey(*first.grant.lease), Key("early"));
  EXPECT_EQ(LeaseKey(*second.grant.lease), Key("late"));
  EXPECT_EQ(third.failure->code, Errc::kNotFound);
}

TEST_F(NextSearchTest, TakesTheDocumentOfAnExpiredHolder) {
  Put("a", 1);
  AcquireResult held = AcquireNext(engine(), Next({.ttl = 10s, .renew = false}), {});
  EXPECT_TRUE(AcquireNext(engine(), Next(), {}).failure);
  clock->Advance(10s);
  EXPECT_TRUE(AcquireNext(engine(), Next(), {}).grant.lease);
}

TEST_F(NextSearchTest, WaitsUntilADocumentIsThere) {
  const TimePoint start = clock->Now();
  runtime->Schedule(start + 3s, [&] { Put("a", 1); });
  const AcquireResult result = AcquireNext(engine(), Next({.wait = 1min}), {});
  ASSERT_TRUE(result.grant.lease);
  EXPECT_LE(clock->Now() - start, 3s + 1s) << "found by the next poll";
}

TEST_F(NextSearchTest, WaitIsKeptToTheTimeGiven) {
  const TimePoint start = clock->Now();
  EXPECT_EQ(AcquireNext(engine(), Next({.wait = 5s}), {}).failure->code, Errc::kNotFound);
  EXPECT_EQ(clock->Now() - start, 5s);
}

TEST_F(NextSearchTest, AStopRequestEndsTheWait) {
  std::stop_source stop;
  runtime->Schedule(clock->Now() + 3s, [&] { stop.request_stop(); });
  EXPECT_EQ(AcquireNext(engine(), Next({.wait = kForever}), stop.get_token()).failure->code,
            Errc::kCancelled);
}

TEST_F(NextSearchTest, CancellingAnAsynchronousSearchLeavesNoLockBehind) {
  std::optional<AcquireResult> result;
  const AcquireHandle handle = AcquireNextAsync(engine(), Next({.wait = kForever}),
                                                [&](AcquireResult r) { result = std::move(r); });
  clock->RunPending();
  EXPECT_FALSE(result);
  CancelAcquire(handle);
  clock->RunPending();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->failure->code, Errc::kCancelled);
  Put("a", 1);
  clock->Advance(5s);
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(NextSearchTest, ClosingEndsTheWait) {
  std::optional<AcquireResult> result;
  AcquireNextAsync(engine(), Next({.wait = kForever}),
                   [&](AcquireResult r) { result = std::move(r); });
  clock->RunPending();
  manager.reset();
  clock->RunPending();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->failure->code, Errc::kCancelled);
}

}  // namespace
}  // namespace doclock::detail
