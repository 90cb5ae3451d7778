#pragma once

#include <string>

#include "sqlite/db/connection.h"
#include "sqlite/schema/table_names.h"

namespace doclock::sqlite {

/// Does the file have what this version needs? @throws StoreException for a file of another
/// version.
bool HasSchema(Connection& connection, const std::string& path);
/// Makes it, inside a transaction.
void CreateSchema(Connection& connection);

/// Is the collection's table of documents there?
bool HasDocuments(Connection& connection, const TableNames& tables);
/// Are all of the collection's tables there?
bool HasCollection(Connection& connection, const TableNames& tables);
/// Makes them, inside a transaction.
void CreateCollection(Connection& connection, const TableNames& tables);

}  // namespace doclock::sqlite
