#pragma once

#include <chrono>
#include <span>

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// See Store::Execute.
void Execute(Server& server, std::span<StoreOp* const> ops, std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
