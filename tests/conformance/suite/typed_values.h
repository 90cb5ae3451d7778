#pragma once

#include <chrono>
#include <cstdint>

#include "doclock/document.h"
#include "doclock/time.h"

namespace doclock::conformance {

inline Date At(std::int64_t ms) { return Date(Date::TimePoint(std::chrono::milliseconds(ms))); }

inline ObjectId Oid(std::uint8_t last) {
  ObjectId id;
  id.bytes.fill(7);
  id.bytes.back() = last;
  return id;
}

}  // namespace doclock::conformance
