#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "rules/lock_state.h"

namespace doclock::records {

// A lock as a record keeps it: a JSON object. Times are nanoseconds of the record store's clock;
// lengths are milliseconds.

/// @param run of the clock whose times these are.
nlohmann::json ToJson(const rules::LockState& lock, const std::string& run);

/// None: the object is not what ToJson writes. A lock of another run of the clock has leases that
/// begin `now`; `moved` says so.
std::optional<rules::LockState> FromJson(const nlohmann::json& json, const std::string& run,
                                         TimePoint now, bool& moved);

}  // namespace doclock::records
