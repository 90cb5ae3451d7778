#pragma once

#include <chrono>
#include <cstdint>

namespace doclock::sqlite {

/// The wall time; diagnostic only.
inline std::int64_t UnixTime() noexcept {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace doclock::sqlite
