#pragma once

#include <functional>
#include <span>
#include <vector>

#include "doclock/export.h"
#include "doclock/store.h"
#include "locking/database.h"

namespace doclock::locking {

/// See Store::Execute: all operations in one unit.
/// One document occurs once among them, but for renewals, which are decided one after the other.
DOCLOCK_EXPORT void Execute(Database& database, std::span<StoreOp* const> ops, Deadline deadline);

/// See Store::ReadTogether.
DOCLOCK_EXPORT void ReadTogether(Database& database, std::span<StoreOp* const> reads,
                                 Deadline deadline);

/// Finds the document of an operation, puts it into `found`, and decides it. If it decides none,
/// the operation's result stands.
using DecideOne = std::function<void(Unit& unit, std::vector<Document>& found)>;
/// Executes one operation whose document `decide` finds.
void ExecuteAlone(Database& database, StoreOp& op, Deadline deadline, const DecideOne& decide);

}  // namespace doclock::locking
