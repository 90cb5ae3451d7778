#pragma once

#include <bson/bson.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// BSON types for which this library has no type of its own (regular expressions, timestamps, code,
// and so on) go through libbson's own canonical Extended JSON.

/// May the object stand for such a value? Cheap; false for nearly every object.
bool MayBeRare(const nlohmann::json::object_t& object) noexcept;

/// { "v": the value }, if the object is exactly what reading that value gives.
std::optional<Doc> ParseRare(const nlohmann::json& object);

/// The value's JSON form.
nlohmann::json ReadRare(const bson_iter_t& value);

}  // namespace doclock::mongodb
