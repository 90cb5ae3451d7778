#pragma once

#include <chrono>
#include <string>

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// See Store::ListLocks. Held locks are found by the index of EnsureIndexes: a document whose lock
/// id is none at all is shown only when its key is asked for, or what nobody holds too.
LockPage ListLocks(Server& server, const Collection& collection, const LockQuery& query,
                   const std::string& after, std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
