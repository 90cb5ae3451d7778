#pragma once

#include <chrono>
#include <span>

#include "doclock/store.h"
#include "mongodb/client/clocks.h"
#include "mongodb/client/server.h"
#include "rules/rules.h"

namespace doclock::mongodb {

/// Fails an acquire whose lease would be over at once, since holders give up early by the
/// difference of the members' clocks. Returns whether it did.
bool FailIfTooShort(StoreOp& op, const ClockWatch& clocks);

/// See locking::Database::RunPlain. Leaves those writes pending that did not find what they
/// expected.
void RunPlain(Server& server, const ClockWatch& clocks, std::span<const rules::PlainOp> ops,
              bool alone, std::chrono::milliseconds budget);

}  // namespace doclock::mongodb
