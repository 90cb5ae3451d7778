#pragma once

#include <string>

#include "doclock/store.h"
#include "sqlite/connection.h"
#include "sqlite/sqlite_collection.h"

namespace doclock::sqlite {

/// The statement that makes the index; empty when SQLite cannot index these fields and need not.
/// @throws std::invalid_argument for bad fields
/// @throws StoreException for a unique index that SQLite cannot have
std::string IndexSql(const SqliteCollection& collection, const IndexSpec& index);

/// Is it there?
bool HasIndex(Connection& connection, const SqliteCollection& collection, const IndexSpec& index);

}  // namespace doclock::sqlite
