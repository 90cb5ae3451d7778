/// The real runtime: where tasks run, what Stop waits for, and what a forked child has of it.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <semaphore>
#include <thread>

#include "doclock/lock_manager.h"
#include "engine/runtime/task_threads.h"

namespace doclock::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto kLong = 5min;  // a test that waits so long has failed

/// A task that runs until it is let go, or for long.
struct SlowTask {
  std::binary_semaphore begun{0}, go{0}, over{0};
  std::atomic<bool> ended = false;

  static Runtime::Task Of(const std::shared_ptr<SlowTask>& slow) {
    return [slow] {
      slow->begun.release();
      static_cast<void>(slow->go.try_acquire_for(kLong));
      slow->ended = true;
      slow->over.release();
    };
  }
};

class RealRuntimeTest : public ::testing::Test {
 protected:
  std::shared_ptr<Runtime> runtime = MakeRuntime(1);
};

TEST_F(RealRuntimeTest, PostedTasksRunOnAThreadOfItsOwn) {
  std::promise<std::thread::id> ran;
  runtime->Post([&] { ran.set_value(std::this_thread::get_id()); });
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST_F(RealRuntimeTest, ATimerWakesTheThreadThatSleeps) {
  runtime->Schedule(runtime->Now() + 1h, [] {});
  std::this_thread::sleep_for(50ms);  // let it fall asleep; correct either way
  std::promise<void> ran;
  runtime->Schedule(runtime->Now() + 1ms, [&] { ran.set_value(); });
  ASSERT_EQ(ran.get_future().wait_for(kLong), std::future_status::ready);
}

TEST_F(RealRuntimeTest, SchedulesNothingOnceItIsStopped) {
  runtime->Stop(1s);
  EXPECT_EQ(runtime->Schedule(runtime->Now() + 1h, [] {}), 0U);
}

TEST_F(RealRuntimeTest, StopRunsWhatIsQueued) {
  int ran = 0;
  for (int i = 0; i < 100; ++i) runtime->Work([&] { ++ran; });
  runtime->Stop(kLong);
  EXPECT_EQ(ran, 100);
}

TEST_F(RealRuntimeTest, StopLeavesAWorkerBehindThatTakesTooLong) {
  const auto slow = std::make_shared<SlowTask>();
  runtime->Work(SlowTask::Of(slow));
  slow->begun.acquire();
  runtime->Stop(1ms);
  EXPECT_FALSE(slow->ended);
  slow->go.release();
  slow->over.acquire();
}

TEST_F(RealRuntimeTest, MayBeStoppedOnItsOwnThread) {
  std::promise<void> stopped;
  runtime->Post([&] {
    runtime->Stop(1s);
    stopped.set_value();
  });
  stopped.get_future().get();
}

/// Mutexes may be locked for ever in a child, and its parent's threads are missing.
TEST_F(RealRuntimeTest, HasNoThreadsInAForkedChild) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(10);
    int ran = 0;
    runtime->Post([&] { ++ran; });
    runtime->Work([&] { ++ran; });
    runtime->Notify([&] { ++ran; });
    if (runtime->Schedule(runtime->Now(), [] {}) != 0) ::_exit(2);
    runtime->Cancel(1);
    runtime->Stop(1s);
    runtime.reset();
    ::_exit(ran == 3 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(RealRuntimeTest, EndsInAChildWhateverTheParentsThreadsHadLocked) {
  std::jthread schedules([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) runtime->Cancel(runtime->Schedule(runtime->Now() + 1h, [] {}));
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(10);
      runtime->Stop(1s);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
}

TEST(TaskThreadsTest, AThreadThatWasLeftBehindIsNotWaitedForAgain) {
  const auto slow = std::make_shared<SlowTask>();
  {
    TaskThreads tasks(1);
    tasks.Post(SlowTask::Of(slow));
    slow->begun.acquire();
    tasks.Stop(1ms);
  }
  EXPECT_FALSE(slow->ended);
  slow->go.release();
  slow->over.acquire();
}

TEST(TaskThreadsTest, WhatATaskCapturedMayPostWhenItGoes) {
  std::promise<void> posted;
  TaskThreads tasks(1);
  std::shared_ptr<void> captured(
      nullptr, [&](std::nullptr_t) { tasks.Post([&posted] { posted.set_value(); }); });
  tasks.Post([captured] {});
  captured.reset();
  ASSERT_EQ(posted.get_future().wait_for(kLong), std::future_status::ready);
}

}  // namespace
}  // namespace doclock::detail
