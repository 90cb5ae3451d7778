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
/// Is the collection's table of documents there?
bool HasDocuments(Connection& connection, const TableNames& tables);
/// Are all of the collection's tables there? @param path for messages
/// @throws StoreException for an index that has another definition than this version's
bool HasCollection(Connection& connection, const TableNames& tables, const std::string& path);
/// Makes them, inside a transaction. Throws as HasCollection.
void CreateCollection(Connection& connection, const TableNames& tables, const std::string& path);

}  // namespace doclock::sqlite
