#pragma once

#include <string>

#include "doclock/store.h"
#include "sqlite/db/connection.h"
#include "sqlite/schema/sqlite_collection.h"

namespace doclock::sqlite {

/// The statement that makes the index; empty when SQLite cannot index these fields and need not.
/// @throws std::invalid_argument for bad fields
/// @throws StoreException for a unique index that SQLite cannot have
std::string IndexSql(const SqliteCollection& collection, const IndexSpec& index);

/// Is the index there that IndexSql gave `sql` for?
bool HasIndex(Connection& connection, const std::string& sql);

/// Makes it, inside a transaction, in place of one of its name that is another.
void CreateIndex(Connection& connection, const SqliteCollection& collection, const IndexSpec& index,
                 const std::string& sql);

}  // namespace doclock::sqlite
