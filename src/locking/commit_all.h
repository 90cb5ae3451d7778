#pragma once

#include "doclock/export.h"
#include "doclock/store.h"
#include "locking/database.h"

namespace doclock::locking {

/// See Store::Commit: all operations in one unit. A database without transactions refuses.
DOCLOCK_EXPORT void CommitAll(Database& database, CommitOp& commit, Deadline deadline);

}  // namespace doclock::locking
