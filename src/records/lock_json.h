#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "rules/lock_state.h"

namespace doclock::records {

// A lock as a record keeps it: a JSON object. Times are nanoseconds of the record store's clock;
// lengths are milliseconds.

/// @param run the run of the clock that these times belong to.
nlohmann::json ToJson(const rules::LockState& lock, const std::string& run);

/// Nothing if the object is not what ToJson writes. The leases of a lock from another run of the
/// clock begin `now`.
std::optional<rules::LockState> FromJson(const nlohmann::json& json, const std::string& run,
                                         TimePoint now);

}  // namespace doclock::records
