#pragma once

#include <sys/resource.h>

/// @file
/// The processor's time that a program used.

namespace doclock::bench {

/// Of this process, in user and system mode, in microseconds.
inline double CpuMicroseconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto micro = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return micro(usage.ru_utime) + micro(usage.ru_stime);
}

}  // namespace doclock::bench
