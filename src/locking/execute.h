#pragma once

#include <functional>
#include <span>

#include "doclock/export.h"
#include "doclock/store.h"
#include "locking/database.h"

namespace doclock::locking {

/// See Store::Execute: all operations in one unit.
/// One document occurs once among them, but for renewals, which are decided one after the other.
DOCLOCK_EXPORT void Execute(Database& database, std::span<StoreOp* const> ops, Deadline deadline);

/// Executes one operation whose document `decide` finds: it gives the change that document, and
/// decides it; or it leaves the change alone, and then the operation's result stands.
void ExecuteAlone(Database& database, StoreOp& op, Deadline deadline,
                  const std::function<void(Unit&, Change&)>& decide);

}  // namespace doclock::locking
