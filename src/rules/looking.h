#pragma once

#include <vector>

#include "doclock/export.h"
#include "rules/lock_state.h"

namespace doclock::rules {

// How a lock appears to reads and lists.

/// Fills in the lock's part of the result: kDone. The store fills in the body.
DOCLOCK_EXPORT void Read(ReadOp& op, const LockState& state, TimePoint now);

/// Adds the rows of one document that the query asks for. The store has filled `row` with the key
/// and whether there is a body.
DOCLOCK_EXPORT void AddRows(std::vector<LockRow>& rows, const LockRow& row, const LockState& state,
                            const LockQuery& query, TimePoint now);

}  // namespace doclock::rules
