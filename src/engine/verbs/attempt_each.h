#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "doclock/detail/engine.h"

namespace doclock::detail {

/// The outcomes of several attempts, in their order. One with neither a grant nor a failure was not
/// made: other callers of this process come first, there or before it.
using AttemptResults = std::vector<AcquireResult>;

/// Tries once to take each of several locks, of different documents, in as few calls of the store
/// as it allows, within their time to wait. `done` is called once, perhaps before this returns; it
/// must not throw. If this throws, nothing was attempted. The returned waits are for CancelAcquire:
/// if one is cancelled, all are.
std::vector<AcquireHandle> AttemptEach(const EnginePtr&, const std::vector<AcquireSpec>&,
                                       std::function<void(AttemptResults)> done);
/// Attempts each lock for a caller that blocks.
AttemptResults AttemptEach(const EnginePtr&, const std::vector<AcquireSpec>&, std::stop_token);

}  // namespace doclock::detail
