#include "doclock/time.h"

#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace doclock {
namespace {

/// What follows "boottime" in timens_offsets: seconds and nanoseconds.
std::int64_t ParseShift(const char* text) noexcept {
  constexpr const char* kName = "boottime";
  const char* line = std::strstr(text, kName);
  if (line == nullptr) return 0;
  char* end = nullptr;
  const std::int64_t seconds = std::strtoll(line + std::strlen(kName), &end, 10);
  return seconds * 1'000'000'000 + std::strtoll(end, nullptr, 10);
}

/// A time namespace shifts CLOCK_BOOTTIME for the processes inside it. Processes inside and outside
/// must agree on lease times, so this takes the shift out. Makes only calls that are safe in a
/// forked child.
std::int64_t NamespaceShift() noexcept {
  const int file = ::open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 256> text{};
  const auto size = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  return size > 0 ? ParseShift(text.data()) : 0;
}

std::atomic<std::int64_t>& Shift() noexcept {
  static std::atomic<std::int64_t> shift{NamespaceShift()};
  return shift;
}

/// A running process never changes its time namespace, but its next child may be born into another
/// one: unshare(CLONE_NEWTIME) works so.
const int registered = [] {
  Shift();
  return ::pthread_atfork(nullptr, nullptr, [] { Shift().store(NamespaceShift()); });
}();

}  // namespace

BootClock::time_point BootClock::now() noexcept {
  static_cast<void>(registered);
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) -
                    std::chrono::nanoseconds(Shift().load(std::memory_order_relaxed)));
}

}  // namespace doclock
