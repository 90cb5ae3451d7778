/// Tasks and timers of a user's Runtime may come after their manager has gone, or while it closes.

#include <memory>
#include <vector>

#include "engine/runtime/hooked_runtime.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class OutlivingTest : public EngineTest {
 protected:
  /// True once nothing refers to its engine any more.
  bool EndManager() {
    const std::weak_ptr<Engine> engine_there = there->engine();
    there.reset();
    clock->RunPending();
    return engine_there.expired();
  }

  std::shared_ptr<HookedRuntime> hooked = std::make_shared<HookedRuntime>(runtime);
  std::optional<LockManager> there{
      std::in_place, store,
      ManagerOptions{
          .observer = std::make_shared<Observer>(), .drain_timeout = 1s, .runtime = hooked}};
};

TEST_F(OutlivingTest, ATimerOfRenewalsThatGoesOffLaterDoesNothing) {
  (void)LockBy(*there, "a");  // and released at once: its timer is left
  ASSERT_TRUE(EndManager());
  store->Reset();
  clock->Advance(1min);
  EXPECT_EQ(store->Calls(), 0);
}

TEST_F(OutlivingTest, ASubscriptionThatComesToItsTurnLaterIsNotMade) {
  std::vector<Runtime::Task> tasks;
  there->Close();
  hooked->on_work = [&](Runtime::Task task) { tasks.push_back(std::move(task)); };
  there->engine()->waits().hints().Enter(*collection);  // as by a caller that comes at that moment
  hooked->on_work = nullptr;
  ASSERT_EQ(tasks.size(), 1U);
  ASSERT_TRUE(EndManager());
  tasks.front()();
}

/// Closes it between the grant and the moment when the waiter gets it.
TEST_F(OutlivingTest, ALockThatIsHandedOverWhileTheManagerClosesIsGivenBack) {
  Grant held = LockBy(*there, "a");
  const auto next = LockLaterBy(*there, "a", {.wait = kForever});
  hooked->before_notify = [this] {
    hooked->before_notify = nullptr;
    there->Close();
  };
  EXPECT_FALSE(ReleaseWith(held, {{"n", 1}}));
  EXPECT_EQ(next->code(), Errc::kCancelled);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("a"));
}

}  // namespace
}  // namespace doclock::detail
