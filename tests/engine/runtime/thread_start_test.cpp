#include <gtest/gtest.h>

#include <system_error>

#include "doclock/lock_manager.h"
#include "doclock/open_store.h"
#include "engine/runtime/task_threads.h"
#include "process/few_threads.h"

#ifdef DOCLOCK_TEST_FEW_THREADS

namespace doclock::detail {
namespace {

using test::FewThreads;

TEST(ThreadStartTest, AManagerWhoseThreadsCannotAllStartIsNotMade) {
  const auto store = OpenMemoryStore();
  bool made = false;
  for (int threads = 0; !made; ++threads) {
    ASSERT_LT(threads, 10);
    const FewThreads few(threads);
    try {
      const LockManager manager(store);
      made = true;
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::resource_unavailable_try_again);
    }
  }
}

TEST(ThreadStartTest, WithoutAThreadLateTasksRunOnTheCallers) {
  TaskThreads tasks(1);
  tasks.Stop();
  const FewThreads none(0);
  int runs = 0;
  tasks.Post([&] {
    ++runs;
    tasks.Post([&] { ++runs; });
    EXPECT_EQ(runs, 1) << "not inside this one";
  });
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace doclock::detail

#endif
