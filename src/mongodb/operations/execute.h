#pragma once

#include <chrono>
#include <span>

#include "doclock/store.h"
#include "mongodb/client/clock_watch.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// Settles an acquire whose lease would be over at once, since holders give up early by the
/// difference of the members' clocks. False: it is none.
bool IsTooShort(StoreOp& op, const ClockWatch& clocks);

/// See Store::Execute.
void Execute(Server& server, const ClockWatch& clocks, std::span<StoreOp* const> ops,
             std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
