#pragma once

#include <cstdint>
#include <string>

#include "doclock/export.h"
#include "doclock/key.h"

/// @file
/// Statements for programs that write SQL of their own. The tables are those of the search path.

namespace doclock {

/// Returns the statements that create a collection's tables. Run by another user, they spare that
/// of the store the right to create: it needs SELECT, INSERT, UPDATE and DELETE on `doclock_c_...`,
/// and SELECT and INSERT on `doclock_meta`.
/// @throws std::invalid_argument for a bad name
DOCLOCK_EXPORT std::string PostgresqlTables(const std::string& collection);

/// Returns a SELECT for a transaction of the user's own, on any connection to the database. It
/// gives one row if the exclusive lock with this fence() is still held, and no other client is
/// granted it until the transaction ends, even if its lease is over. No row: roll back. The lock's
/// renewal and release wait meanwhile, so the transaction should be shorter than a third of the
/// ttl.
/// @throws std::invalid_argument for a bad name
DOCLOCK_EXPORT std::string PostgresqlFence(const std::string& collection, const Key& key,
                                           std::int64_t fence);

}  // namespace doclock
