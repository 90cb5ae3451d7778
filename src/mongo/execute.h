#pragma once

#include <chrono>
#include <span>

#include "doclock/store.h"
#include "mongo/server.h"

namespace doclock::mongo {

/// See Store::Execute.
void Execute(Server& server, std::span<StoreOp* const> ops, std::chrono::milliseconds budget);

}  // namespace doclock::mongo
