// The outcome of a wait that ends while the attempt under way has no answer.

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

using OutageTest = EngineTest;

TEST_F(OutageTest, AStoreThatDoesNotAnswerAnyMoreIsNotTakenForALock) {
  Grant held = Lock("a");
  auto waiting = LockLater("a", {.wait = 10s});
  clock->Advance(5s);
  clock->DelayWork(1min);
  clock->Advance(5s);
  EXPECT_EQ(waiting->code(), Errc::kUnavailable);
  EXPECT_NE(waiting->result->failure->message.find("gave no answer"), std::string::npos);
  clock->Advance(2min);  // what was delayed comes to its end
}

TEST_F(OutageTest, AnAttemptThatHasJustBegunSaysNothingOfTheStore) {
  Grant held = Lock("a");
  auto waiting = LockLater("a", {.wait = 10s});
  clock->Advance(9s);
  clock->DelayWork(1min);
  clock->Advance(1s);
  EXPECT_EQ(waiting->code(), Errc::kTimedOut);
  clock->Advance(2min);  // what was delayed comes to its end
}

TEST_F(OutageTest, AWaitBehindALocalHolderIsNoOutage) {
  auto first = LockLater("a", {.wait = 10s});
  ASSERT_TRUE(first->granted());
  auto second = LockLater("a", {.wait = kForever});
  auto third = LockLater("a", {.wait = 5s});
  ASSERT_FALSE(ReleaseWith(first->result->grant, {{"n", 1}}));
  ASSERT_TRUE(second->granted());
  clock->Advance(5s);
  EXPECT_EQ(third->code(), Errc::kTimedOut);
}

}  // namespace
}  // namespace doclock::detail
