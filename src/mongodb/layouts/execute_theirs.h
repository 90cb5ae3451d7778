#pragma once

#include <span>

#include "locking/database.h"

namespace doclock::mongodb {

/// Executes operations on collections of other libraries (LayoutOf). Refuses what their layouts
/// cannot promise.
void ExecuteTheirs(locking::Database& database, std::span<StoreOp* const> ops,
                   locking::Deadline deadline);

}  // namespace doclock::mongodb
