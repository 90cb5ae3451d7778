#include <string>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class FailureTextTest : public EngineTest {
 protected:
  std::string BusyText(const Key& key) {
    const AcquireResult result = Acquire(engine(), Spec(key), {});
    EXPECT_TRUE(result.failure);
    return result.failure ? result.failure->message : "";
  }
};

TEST_F(FailureTextTest, AnInsertOfADocumentThatIsThereSaysSo) {
  ASSERT_FALSE(Insert("a", {{"n", 1}}));
  const FailurePtr failure = Insert("a", {{"n", 1}});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, Errc::kConflict);
  EXPECT_EQ(failure->message, "document 'a' of 'orders' exists already");
}

TEST_F(FailureTextTest, ALockThatOnlyMinHoldKeepsClosedSaysForHowLong) {
  Grant held = Lock("a", {.min_hold = 60s});
  EXPECT_TRUE(BusyText("a").starts_with("document 'a' of 'orders' is locked by "));
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  clock->Advance(10s);
  EXPECT_EQ(BusyText("a"), "document 'a' of 'orders' is kept closed for another 50 s");
}

TEST_F(FailureTextTest, AWaitThatEndsNamesTheHolder) {
  const Grant held = Lock("a", {.ttl = 1h, .owner = "worker"});
  const auto timed_out = LockLater("a", {.wait = 5s});
  const auto stopped = LockLater("a", {.wait = kForever});
  clock->Advance(10s);
  ASSERT_EQ(timed_out->code(), Errc::kTimedOut);
  const std::string name = timed_out->result->failure->holder.ToString();
  EXPECT_TRUE(name.starts_with("worker (")) << name;
  const std::string holder = name + ", which is this process by its host and pid";
  EXPECT_EQ(timed_out->result->failure->message,
            "document 'a' of 'orders' was still locked by " + holder + " after the time to wait");
  CancelAcquire(stopped->handle);
  clock->RunPending();
  ASSERT_EQ(stopped->code(), Errc::kCancelled);
  EXPECT_EQ(stopped->result->failure->message,
            "the wait for document 'a' of 'orders', locked by " + holder + ", was stopped");
}

TEST_F(FailureTextTest, AWaitForALockThatOnlyMinHoldKeepsClosedSaysSo) {
  Grant held = Lock("a", {.min_hold = 60s});
  ASSERT_FALSE(ReleaseWith(held, {{"n", 1}}));
  const auto timed_out = LockLater("a", {.wait = 5s});
  const auto stopped = LockLater("a", {.wait = kForever});
  clock->Advance(10s);
  ASSERT_EQ(timed_out->code(), Errc::kTimedOut);
  EXPECT_EQ(timed_out->result->failure->message,
            "document 'a' of 'orders' was still kept closed by min_hold after the time to wait");
  EXPECT_TRUE(timed_out->result->failure->kept_closed);
  CancelAcquire(stopped->handle);
  clock->RunPending();
  ASSERT_EQ(stopped->code(), Errc::kCancelled);
  EXPECT_EQ(stopped->result->failure->message,
            "the wait for document 'a' of 'orders', kept closed by min_hold, was stopped");
}

}  // namespace
}  // namespace doclock::detail
