#pragma once

#include <string>

#include "doclock/store/store.h"
#include "sqlite/db/connection.h"
#include "sqlite/tables/collection.h"

namespace doclock::sqlite {

/// The statement that makes the index; empty when SQLite cannot index these fields and need not.
/// @throws std::invalid_argument for bad fields
/// @throws StoreException for a unique index that SQLite cannot have
std::string IndexSql(const SqliteCollection& collection, const IndexSpec& index);

/// Does the index of this IndexSql exist?
bool HasIndex(Connection& connection, const std::string& sql);

/// Creates it unless it exists, inside a transaction.
void CreateIndex(Connection& connection, const std::string& sql);

}  // namespace doclock::sqlite
