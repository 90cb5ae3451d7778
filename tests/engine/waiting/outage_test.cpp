// The outcome of a wait that ends while the attempt under way has no answer.

#include "doclock/detail/facade.h"
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

TEST_F(OutageTest, ASearchThatGetsNoAnswerAnyMoreHasNotFoundNothing) {
  const auto search = NextLater(Spec("any", {.wait = 10s}));
  clock->Advance(2s);
  EXPECT_FALSE(search->result);
  clock->DelayWork(1min);
  clock->Advance(8s);
  EXPECT_EQ(search->code(), Errc::kUnavailable);
  clock->Advance(2min);
}

TEST_F(OutageTest, DoesNotEndAWaitForSeveralLocks) {
  { const Grant a = Lock("a"); }
  clock->RunPending();
  Grant b = Lock("b");
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kAcquire, .key = "a", .skip = 1});
  std::optional<AcquireAllResult> result;
  AcquireAllAsync(engine(), {Spec("a", {.wait = 1min}), Spec("b", {.wait = 1min})},
                  {std::make_shared<Canceller>(), nullptr},
                  [&](AcquireAllResult told) { result = std::move(told); });
  clock->Advance(1s);  // it has given the first one back
  EXPECT_FALSE(ReleaseWith(b, {{"n", 1}}));
  clock->Advance(5s);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->failure);
}

}  // namespace
}  // namespace doclock::detail
