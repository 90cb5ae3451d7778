#include "doclock/testing/manual_clock.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace doclock::testing {
namespace {

using namespace std::chrono_literals;

class ManualClockTest : public ::testing::Test {
 protected:
  /// A task that leaves a note.
  Runtime::Task Note(std::string text) {
    return [this, text = std::move(text)] { notes_.push_back(text); };
  }
  TimePoint In(std::chrono::milliseconds delay) { return start_ + delay; }

  ManualClock clock_;
  std::shared_ptr<Runtime> runtime_ = clock_.runtime();
  TimePoint start_ = clock_.Now();
  std::vector<std::string> notes_;
};

using Notes = std::vector<std::string>;

TEST_F(ManualClockTest, RunsQueuedTasksInOrderAndNotBeforeItIsAsked) {
  runtime_->Post(Note("post"));
  runtime_->Work(Note("work"));
  runtime_->Notify(Note("notify"));
  EXPECT_EQ(notes_, Notes{});
  clock_.RunPending();
  EXPECT_EQ(notes_, (Notes{"post", "work", "notify"}));
  EXPECT_EQ(clock_.Now(), start_);
}

TEST_F(ManualClockTest, RunsTimersByTimeAndThenByAge) {
  runtime_->Schedule(In(2s), Note("2a"));
  runtime_->Schedule(In(1s), Note("1"));
  runtime_->Schedule(In(2s), Note("2b"));
  runtime_->Schedule(In(3s), Note("3"));
  clock_.Advance(2s);
  EXPECT_EQ(notes_, (Notes{"1", "2a", "2b"}));
}

TEST_F(ManualClockTest, RunsEachTimerAtItsOwnMoment) {
  std::vector<std::chrono::nanoseconds> seen;
  const auto look = [&] { seen.push_back(clock_.Now() - start_); };
  runtime_->Schedule(In(1s), [&] {
    look();
    runtime_->Schedule(In(1500ms), look);
  });
  runtime_->Schedule(In(2s), look);
  clock_.Advance(10s);
  EXPECT_EQ(seen, (std::vector<std::chrono::nanoseconds>{1s, 1500ms, 2s}));
  EXPECT_EQ(clock_.Now(), start_ + 10s);
}

TEST_F(ManualClockTest, ForgetsCancelledTimers) {
  const auto id = runtime_->Schedule(In(1s), Note("no"));
  EXPECT_NE(id, 0U);
  runtime_->Cancel(id);
  runtime_->Cancel(id);
  runtime_->Cancel(0);
  clock_.Advance(2s);
  EXPECT_EQ(notes_, Notes{});
}

TEST_F(ManualClockTest, AWaitRunsTasksBeforeItMovesTime) {
  const auto event = runtime_->MakeEvent();
  runtime_->Schedule(In(1s), Note("timer"));
  runtime_->Post([&] {
    notes_.push_back("post");
    event->Set();
  });
  event->Wait();
  EXPECT_EQ(notes_, Notes{"post"});
  EXPECT_EQ(clock_.Now(), start_);
}

TEST_F(ManualClockTest, AWaitMovesTimeToTheTimerThatEndsIt) {
  const auto event = runtime_->MakeEvent();
  runtime_->Schedule(In(1h), [&] { event->Set(); });
  runtime_->Schedule(In(2h), Note("too far"));
  event->Wait();
  EXPECT_EQ(clock_.Now(), start_ + 1h);
  EXPECT_EQ(notes_, Notes{});
}

TEST_F(ManualClockTest, AWaitThatNothingCanEndThrows) {
  const auto event = runtime_->MakeEvent();
  runtime_->Schedule(In(1s), Note("in vain"));
  EXPECT_THROW(event->Wait(), std::logic_error);
  EXPECT_EQ(notes_, Notes{"in vain"});
}

TEST_F(ManualClockTest, AWaitSeesWhatAnotherThreadIsAboutToAdd) {
  const auto event = runtime_->MakeEvent();
  std::thread listener([&] {
    std::this_thread::sleep_for(20ms);
    runtime_->Post([&] { event->Set(); });
  });
  EXPECT_NO_THROW(event->Wait());
  listener.join();
}

/// Tasks that make one another for ever, as the polls of a waiter and the renewals of a lease do.
struct Repeating {
  void Run() {
    runtime->Schedule(runtime->Now() + 100ms, [this] { Run(); });
  }
  std::shared_ptr<Runtime> runtime;
};

TEST_F(ManualClockTest, AWaitThatOnlyRepetitionGoesOnInThrowsSoon) {
  Repeating polls{runtime_};
  polls.Run();
  const auto event = runtime_->MakeEvent();
  EXPECT_THROW(event->Wait(), std::logic_error);
  EXPECT_LT(clock_.Now(), start_ + 24h);
  runtime_.reset();
  polls.runtime.reset();
}

TEST_F(ManualClockTest, AWaitLastsAsLongAsWhatIsScheduledHoweverMuchRepeats) {
  Repeating polls{runtime_};
  polls.Run();
  const auto event = runtime_->MakeEvent();
  runtime_->Schedule(In(3h), [&] { event->Set(); });
  event->Wait();
  EXPECT_EQ(clock_.Now(), start_ + 3h);
}

TEST_F(ManualClockTest, ATaskMayWaitItself) {
  const auto outer = runtime_->MakeEvent();
  runtime_->Post([&] {
    const auto inner = runtime_->MakeEvent();
    runtime_->Schedule(In(1s), [&] { inner->Set(); });
    inner->Wait();
    notes_.push_back("inner");
    outer->Set();
  });
  outer->Wait();
  EXPECT_EQ(notes_, Notes{"inner"});
}

TEST_F(ManualClockTest, AWaitInsideAnAdvanceMayGoBeyondItsEnd) {
  runtime_->Schedule(In(1s), [&] {
    const auto event = runtime_->MakeEvent();
    runtime_->Schedule(In(10s), [&] { event->Set(); });
    event->Wait();
  });
  clock_.Advance(2s);
  EXPECT_EQ(clock_.Now(), start_ + 10s);
}

TEST_F(ManualClockTest, TasksRunOnTheRuntimesOwnThread) {
  bool inside = false;
  runtime_->Post([&] { inside = runtime_->OnOwnThread(); });
  EXPECT_FALSE(runtime_->OnOwnThread());
  clock_.RunPending();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(runtime_->OnOwnThread());
}

TEST_F(ManualClockTest, AStopRunsWhatIsQueuedAndDropsTimers) {
  clock_.DelayWork(1s);
  runtime_->Post(Note("post"));
  runtime_->Work(Note("work"));
  runtime_->Schedule(In(1s), Note("timer"));
  runtime_->Stop({});
  EXPECT_EQ(notes_, (Notes{"post", "work"}));
  clock_.Advance(10s);
  EXPECT_EQ(notes_, (Notes{"post", "work"}));
}

TEST_F(ManualClockTest, AfterAStopTasksRunAtOnceAndTimersNever) {
  clock_.DelayWork(1s);
  runtime_->Stop({});
  runtime_->Post(Note("post"));
  runtime_->Work(Note("work"));
  runtime_->Notify(Note("notify"));
  EXPECT_EQ(notes_, (Notes{"post", "work", "notify"}));
  EXPECT_EQ(runtime_->Schedule(In(1s), Note("timer")), 0U);
  clock_.Advance(10s);
  EXPECT_EQ(notes_.size(), 3U);
}

TEST_F(ManualClockTest, StoppingOneRuntimeLeavesTheOthers) {
  const auto other = clock_.runtime();
  other->Schedule(In(1s), Note("other"));
  runtime_->Stop({});
  clock_.Advance(1s);
  EXPECT_EQ(notes_, Notes{"other"});
}

TEST_F(ManualClockTest, ADroppedRuntimeRunsNothing) {
  runtime_->Post(Note("post"));
  runtime_->Schedule(In(1s), Note("timer"));
  runtime_.reset();
  clock_.Advance(1s);
  EXPECT_EQ(notes_, Notes{});
}

TEST_F(ManualClockTest, TasksMayComeFromOtherThreads) {
  std::thread([&] { runtime_->Post(Note("from afar")); }).join();
  clock_.RunPending();
  EXPECT_EQ(notes_, Notes{"from afar"});
}

TEST_F(ManualClockTest, TimeEndsAtTheEndOfTime) {
  clock_.Advance(Duration::Max());
  clock_.Advance(1h);
  EXPECT_EQ(clock_.Now(), TimePoint::max());
}

}  // namespace
}  // namespace doclock::testing
