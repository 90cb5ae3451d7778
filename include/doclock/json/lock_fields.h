#pragma once

/// @file
/// LockFields as JSON, for a lock that travels with its entity through a message or a web page:
/// `{"id": "UUID as text", "time": date, "version": 7}`; `id` and `time` are null when there is no
/// lock.
///
/// Who has the id can release the lock: send it only to those who may. In the stored document the
/// lock has fields of its own, so keep LockFields out of the entity's JSON form there.

#include <nlohmann/json.hpp>

#include "doclock/entity_traits.h"
#include "doclock/export.h"

namespace doclock {

/// Writes the lock fields as JSON. The time is cut to milliseconds.
DOCLOCK_EXPORT void to_json(nlohmann::json& out, const LockFields& fields);
/// Reads lock fields that to_json wrote. @throws std::invalid_argument or nlohmann::json::exception
/// if the form is another.
DOCLOCK_EXPORT void from_json(const nlohmann::json& in, LockFields& fields);

}  // namespace doclock
