#pragma once

#include <nlohmann/json.hpp>

#include "doclock/export.h"

namespace doclock::detail {

/// Are these the same value, to the letter? Unlike operator==, which says that 1 equals 1.0 and 0.0
/// equals -0.0, and that 2^53 + 1 equals 2^53 as a double: a whole number and a double are two
/// values, and so are two doubles of different bits. Whether a whole number is kept as signed or
/// unsigned does not matter. With this it is decided what of a body has changed.
DOCLOCK_EXPORT bool IsSameJson(const nlohmann::json& a, const nlohmann::json& b) noexcept;

}  // namespace doclock::detail
