#pragma once

#include <functional>
#include <optional>
#include <span>

#include "doclock/store.h"
#include "locking/database.h"

namespace doclock::locking {

/// See Store::Execute: all operations in one unit, or each in its own if the database is immediate.
/// One document occurs once among them, but for renewals, which are decided one after the other.
void Execute(Database& database, std::span<StoreOp* const> ops, Deadline deadline);

/// Executes one operation whose document `decide` finds: it returns the change that it decided; or
/// nothing, and then the operation's result stands.
void ExecuteAlone(Database& database, StoreOp& op, Deadline deadline,
                  const std::function<std::optional<Change>(Unit&)>& decide);

}  // namespace doclock::locking
