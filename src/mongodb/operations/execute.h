#pragma once

#include <chrono>
#include <span>

#include "doclock/store.h"
#include "mongodb/client/clock_watch.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// Fails an acquire whose lease would be over at once, since holders give up early by the
/// difference of the members' clocks. Returns whether it did.
bool FailIfTooShort(StoreOp& op, const ClockWatch& clocks);

/// See Store::Execute.
void Execute(Server& server, const ClockWatch& clocks, std::span<StoreOp* const> ops,
             std::chrono::milliseconds budget);

/// See Store::ReadTogether. A server that is no member of a replica set refuses.
void ReadTogether(Server& server, std::span<StoreOp* const> reads,
                  std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
