#pragma once

#include <vector>

#include "rules/lock_state.h"

namespace doclock::rules {

// What a lock looks like to those who only look.

/// Fills in what a look tells of the lock: kDone. The body is the store's matter.
void Read(ReadOp& op, const LockState& state, TimePoint now);

/// Adds the rows of one document that the query asks for. `row` has what the store knows without
/// its lock: the key, and whether there is a body.
void AddRows(std::vector<LockRow>& rows, const LockRow& row, const LockState& state,
             const LockQuery& query, TimePoint now);

}  // namespace doclock::rules
