#pragma once

#include <chrono>
#include <vector>

#include "doclock/store.h"
#include "mongodb/client/clocks.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// Looks at the server, its disk, this user's privileges and, unless it is null, a collection: see
/// Store::Examine. What the user may not see is a finding. @throws StoreException
std::vector<Finding> Examine(Server& server, const Collection* collection, const ClockSkew& skew,
                             std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
