#pragma once

#include <nlohmann/json.hpp>

#include "doclock/options.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// What doclock changes in a body that another library reads.

/// Adds a stage to the statement of an update by stages: the members of `after` that `before` has
/// not, or has otherwise. A document keeps its members, and each of them its type: a whole number
/// is stored in that of the number before it. @param lock these members are the lock's: a body that
/// has one is refused @throws DocumentException names the member that does not fit
Doc WithBody(const Doc& statement, const bson_t& seen, const LockFieldNames& lock,
             const nlohmann::json& after, const nlohmann::json& before);
/// Is `stored` what WithBody makes of `body`?
bool IsStored(const nlohmann::json& body, const nlohmann::json& stored);

}  // namespace doclock::mongodb
