#pragma once

#include <nlohmann/json.hpp>

#include "doclock/export.h"

namespace doclock::detail {

/// Are these exactly the same value? Decides which fields of a body have changed. For operator==, 1
/// equals 1.0, 0.0 equals -0.0, and 2^53 + 1 equals 2^53 as a double. Here a whole number and a
/// double differ, and so do two doubles with different bits. A signed and an unsigned whole number
/// of the same value are the same.
DOCLOCK_EXPORT bool IsSameJson(const nlohmann::json& a, const nlohmann::json& b) noexcept;

}  // namespace doclock::detail
