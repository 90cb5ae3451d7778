#pragma once

#include <chrono>
#include <string>

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// See Store::ListLocks. Finds held locks by the index of EnsureIndexes: a document whose lock id
/// is not an id at all is shown only if its key is asked for, or if free documents are, too.
LockPage ListLocks(Server& server, const Collection& collection, const LockQuery& query,
                   const std::string& after, std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
