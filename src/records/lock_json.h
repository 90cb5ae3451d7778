#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doclock/export.h"
#include "rules/lock_state.h"

namespace doclock::records {

// A lock as a record keeps it: a JSON object. Times are nanoseconds of the record store's clock;
// lengths are milliseconds.

/// @param run the run of the clock that these times belong to.
DOCLOCK_EXPORT nlohmann::json ToJson(const rules::LockState& lock, const std::string& run);

/// The part of it that names an owner.
DOCLOCK_EXPORT nlohmann::json OwnerJson(const LockHolder& owner);

/// Reads a lock; nothing if the object is not what ToJson writes. The leases of another run of the
/// clock count from the beginning of this one.
DOCLOCK_EXPORT std::optional<rules::LockState> FromJson(const nlohmann::json& json,
                                                        const std::string& run);

}  // namespace doclock::records
