#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "doclock/lock_manager.h"
#include "doclock/memory_store.h"
#include "engine/task_threads.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DOCLOCK_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DOCLOCK_TEST_SANITIZED
#endif

// Sanitizers bring a pthread_create of their own.
#if defined(__linux__) && !defined(DOCLOCK_TEST_SANITIZED)

#include <dlfcn.h>
#include <pthread.h>

namespace {
/// Threads that may still start; negative: any number.
std::atomic<int> threads_left{-1};
}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  return real(thread, attributes, run, argument);
}

namespace doclock::detail {
namespace {

/// Lets so many threads start, and then no more.
class FewThreads {
 public:
  explicit FewThreads(int threads) { threads_left = threads; }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
  ~FewThreads() { threads_left = -1; }
};

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
