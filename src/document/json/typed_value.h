#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "doclock/export.h"

namespace doclock::detail {

/// Which of people's types a JSON object stands for. The order is that of OrderBy.
enum class TypedKind : std::uint8_t { kNone, kDate, kBinary, kObjectId, kDecimal };

/// Only the exact output of to_json of that type counts: everything else is an ordinary object.
DOCLOCK_EXPORT TypedKind KindOf(const nlohmann::json& value) noexcept;

/// Two values of the same kind, kNone excepted: negative, zero or positive.
int CompareTyped(TypedKind kind, const nlohmann::json& a, const nlohmann::json& b) noexcept;

}  // namespace doclock::detail
