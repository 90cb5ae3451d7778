#include <dirent.h>

#include <atomic>
#include <future>
#include <thread>

#include "repository/support/harness.h"

namespace doclock {
namespace {

class WaitingThreadsTest : public ThreadsTest {
 protected:
  LockingRepository<Saga> sagas{manager, "sagas"};
};
DOCLOCK_FOR_ALL_STORES(WaitingThreadsTest);

/// The number of this process's threads; 0 if it is unknown.
int ThreadCount() {
  DIR* const tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = ::readdir(tasks)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(tasks);
  return count;
}

TEST_P(WaitingThreadsTest, AsynchronousWaitersHoldNoThread) {
  constexpr int kWaiters = 500;
  auto held = sagas.Lock({"42", Saga{"42"}});
  const int at_most = ThreadCount() + 2;  // what the store needs to listen for all of them
  std::atomic<int> granted = 0;
  std::promise<void> all;
  for (int i = 0; i < kWaiters; ++i) {
    sagas.LockAsync("42", {.wait = kForever}, [&](std::exception_ptr error, Locked<Saga> mine) {
      EXPECT_FALSE(error);
      EXPECT_TRUE(mine.held());
      if (++granted == kWaiters) all.set_value();
    });
  }
  EXPECT_LE(ThreadCount(), at_most);
  held.Release();
  all.get_future().wait();
  EXPECT_LE(ThreadCount(), at_most);
}

}  // namespace
}  // namespace doclock
