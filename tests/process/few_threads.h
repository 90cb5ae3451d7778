#pragma once

// Makes threads fail to start. One file of a program may include it: it replaces pthread_create.

#include <atomic>
#include <cerrno>

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
#define DOCLOCK_TEST_FEW_THREADS

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

namespace doclock::test {

/// Lets this many threads start, and then no more.
class FewThreads {
 public:
  explicit FewThreads(int threads) { threads_left = threads; }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
  ~FewThreads() { threads_left = -1; }
};

}  // namespace doclock::test

#endif
