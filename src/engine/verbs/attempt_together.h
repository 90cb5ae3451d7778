#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "doclock/detail/engine.h"

namespace doclock::detail {

/// The outcomes of several attempts, in their order; perhaps of the first of them only. One with
/// neither a grant nor a failure was not made.
using AttemptResults = std::vector<AcquireResult>;

/// Tries once to take several locks, of different documents, in one call of the store, within their
/// time to wait. It tries only those that stand before the first for which other callers of this
/// process come first, and only if they are several. `done` is called once, perhaps before this
/// returns; it must not throw. If this throws, nothing was attempted. The returned wait is for
/// CancelAcquire; null: it has ended.
/// @param here the caller's thread may wait for the store, until it answers
AcquireHandle AttemptTogether(const EnginePtr&, std::vector<AcquireSpec>, bool here,
                              std::function<void(AttemptResults)> done);
/// Attempts the locks for a caller that blocks.
AttemptResults AttemptTogether(const EnginePtr&, std::vector<AcquireSpec>, std::stop_token);

}  // namespace doclock::detail
