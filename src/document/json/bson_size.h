#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "doclock/export.h"

namespace doclock::detail {

/// The bytes of a value as BSON, in which MongoDB keeps it, without its type and name. Exact,
/// except for values of types that doclock has no type of: they count as the objects that they are
/// in JSON, which are longer. So there is always room for what is written. Allocates nothing.
DOCLOCK_EXPORT std::size_t BsonBytes(const nlohmann::json& value);

/// A document's length before its elements, and a zero after.
inline constexpr std::size_t kBsonFrame = 5;

/// The bytes of an element: type, name, zero, value.
inline std::size_t BsonBytes(std::string_view name, const nlohmann::json& value) {
  return 1 + name.size() + 1 + BsonBytes(value);
}

}  // namespace doclock::detail
