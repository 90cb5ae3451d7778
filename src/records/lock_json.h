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

/// A lock that was read.
struct ReadLock {
  rules::LockState state;
  /// Its times are of another run of the clock: `state` has leases that begin now.
  bool begun_anew = false;
};

/// Nothing if the object is not what ToJson writes.
DOCLOCK_EXPORT std::optional<ReadLock> FromJson(const nlohmann::json& json, const std::string& run,
                                                TimePoint now);

}  // namespace doclock::records
