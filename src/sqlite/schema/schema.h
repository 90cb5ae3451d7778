#pragma once

#include <string>
#include <vector>

#include "sqlite/db/connection.h"
#include "sqlite/schema/table_names.h"

namespace doclock::sqlite {

/// Does the file have what this version needs? @throws StoreException for a file of another
/// version.
bool HasSchema(Connection& connection, const std::string& path);
/// Makes it, inside a transaction.
void CreateSchema(Connection& connection);

/// The number of its schema. The file has one.
std::int64_t SchemaVersion(Connection& connection);

/// The names of the file's collections.
std::vector<std::string> CollectionNames(Connection& connection);
/// Is the collection there?
bool HasCollection(Connection& connection, const TableNames& tables);
/// Makes its tables unless it is there, inside a transaction.
void CreateCollection(Connection& connection, const TableNames& tables);

}  // namespace doclock::sqlite
