#include "sqlite/linux/gate_page.h"

#include <time.h>

#include <cerrno>
#include <system_error>

#if defined(__SANITIZE_THREAD__)
#define DOCLOCK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DOCLOCK_THREAD_SANITIZER 1
#endif
#endif

namespace doclock::sqlite {
namespace {

timespec AsTimespec(std::chrono::nanoseconds time) noexcept {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
}

int TimedLock(pthread_mutex_t& mutex, Deadline deadline) noexcept {
#if defined(DOCLOCK_THREAD_SANITIZER)
  // GCC 12's TSan does not know clocklock, and would take the unlock for a mistake.
  const auto left = deadline - std::chrono::steady_clock::now();
  const timespec until = AsTimespec(std::chrono::system_clock::now().time_since_epoch() + left);
  return ::pthread_mutex_timedlock(&mutex, &until);
#else
  // libstdc++'s steady_clock is CLOCK_MONOTONIC.
  const timespec until = AsTimespec(deadline.time_since_epoch());
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

bool GatePage::IsOurs() const noexcept {
  return magic.load(std::memory_order_acquire) == kMagic && page_size == sizeof(GatePage) &&
         mutex_size == sizeof(pthread_mutex_t);
}

}  // namespace doclock::sqlite
