#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

namespace doclock::detail {

/// The bytes of an object as BSON, in which MongoDB keeps it. Exact, except for values of types
/// that doclock has no type of: they count as the objects that they are in JSON, which are longer.
std::size_t BsonBytes(const nlohmann::json& object);

}  // namespace doclock::detail
