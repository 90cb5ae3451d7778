#pragma once

#include <chrono>
#include <cstdint>

namespace doclock::sqlite {

/// The time of day, for people.
inline std::int64_t UnixTime() noexcept {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace doclock::sqlite
