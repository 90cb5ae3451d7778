#include "sqlite/processes/linux/coordinator_page.h"

#include <time.h>

#include <cerrno>
#include <system_error>
#include <thread>

#if defined(__SANITIZE_THREAD__)
#define DOCLOCK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DOCLOCK_THREAD_SANITIZER 1
#endif
#endif

namespace doclock::sqlite {
namespace {

int TimedLock(pthread_mutex_t& mutex, Deadline deadline) noexcept {
#if defined(DOCLOCK_THREAD_SANITIZER)
  // GCC 12's TSan knows neither clocklock, nor what a timed lock of a dead owner's mutex gives.
  int code = EBUSY;
  while ((code = ::pthread_mutex_trylock(&mutex)) == EBUSY &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return code;
#else
  // libstdc++'s steady_clock is CLOCK_MONOTONIC.
  const auto time = deadline.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timespec until{.tv_sec = seconds.count(),
                       .tv_nsec = std::chrono::nanoseconds(time - seconds).count()};
  return ::pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
#endif
}

void Check(int code) {
  if (code != 0) throw std::system_error(code, std::generic_category());
}

}  // namespace

void SharedMutex::Initialise() {
  pthread_mutexattr_t attributes;
  Check(::pthread_mutexattr_init(&attributes));
  Check(::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
  Check(::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
  Check(::pthread_mutex_init(&mutex_, &attributes));
  ::pthread_mutexattr_destroy(&attributes);
}

bool SharedMutex::Taken(int code) noexcept {
  // The mutex guards no memory, only SQLite's write lock, and SQLite undoes what the dead began.
  if (code == EOWNERDEAD) code = ::pthread_mutex_consistent(&mutex_);
  return code == 0;
}

bool SharedMutex::TryLock() noexcept { return Taken(::pthread_mutex_trylock(&mutex_)); }

bool SharedMutex::Lock(Deadline deadline) noexcept { return Taken(TimedLock(mutex_, deadline)); }

void SharedMutex::Unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

std::string CoordinatorPage::Difference() const {
  if (magic.load(std::memory_order_acquire) != kMagic) return "another version of its layout";
  const auto differs = [](const char* what, std::size_t there, std::size_t here) {
    if (there == here) return std::string();
    return std::string(what) + " of " + std::to_string(there) + " bytes, here " +
           std::to_string(here);
  };
  const std::string mutex = differs("mutexes", mutex_size, sizeof(pthread_mutex_t));
  return mutex.empty() ? differs("a page", page_size, sizeof(CoordinatorPage)) : mutex;
}

}  // namespace doclock::sqlite
