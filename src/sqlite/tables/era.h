#pragma once

#include <cstdint>

#include "doclock/time.h"

namespace doclock::sqlite {

/// The time since the last one when no store had the file open. A lock of an earlier era is free if
/// its process is dead, and its waiters are gone.
struct Era {
  std::int64_t number = 0;  ///< 0: none has begun.
  /// The first one of this boot of the machine: times of earlier eras are of another run of the
  /// clock. 0: boots are not known.
  std::int64_t first_of_boot = 0;
  TimePoint boot_seen{};  ///< When that one began.
};

}  // namespace doclock::sqlite
