#pragma once

#include <chrono>
#include <span>

#include "doclock/store.h"
#include "mongodb/client/clocks.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// Fails an acquire whose lease would be over at once, since holders give up early by the
/// difference of the members' clocks. Returns whether it did.
bool FailIfTooShort(StoreOp& op, const ClockWatch& clocks);

/// See locking::Database::Try. Leaves pending what the program has to decide: reads, what waiters
/// leave, and writes that did not find what they expected.
void Execute(Server& server, const ClockWatch& clocks, std::span<StoreOp* const> ops,
             std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
