#pragma once

#include <chrono>
#include <functional>

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// See Store::Query. @throws StoreException, std::invalid_argument
void Query(Server& server, const Collection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, std::chrono::milliseconds budget);

/// See Store::AcquireNext. @throws std::invalid_argument
void AcquireNext(Server& server, const Filter& filter, AcquireOp& op, Key& key,
                 std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
