#pragma once

#include <string>
#include <vector>

#include "sqlite/db/connection.h"
#include "sqlite/tables/collection.h"
#include "sqlite/tables/era.h"

namespace doclock::sqlite {

/// Does the file have what this version needs? @throws StoreException for a file of another
/// version.
bool HasSchema(Connection& connection, const std::string& path);
/// Makes it, inside a transaction.
void CreateSchema(Connection& connection);

/// The era that began last. @throws DatabaseError kRefused for what this library does not write
Era LastEra(Connection& connection);
/// Begins the next one, inside a transaction of the first store to open the file.
/// @param boot platform::BootId
void BeginEra(Connection& connection, const std::string& boot, TimePoint now);
/// The least version that a grant or a write of an era gives: above all that an earlier one has
/// given, also in commits that a power cut has undone.
std::int64_t FloorOf(std::int64_t era) noexcept;

/// The number of its schema. The file has one.
std::int64_t SchemaVersion(Connection& connection);

/// The names of the file's collections.
std::vector<std::string> CollectionNames(Connection& connection);
/// Is the collection there?
bool HasCollection(Connection& connection, const SqliteCollection& collection);
/// Makes its tables unless it is there, inside a transaction.
void CreateCollection(Connection& connection, const SqliteCollection& collection);

}  // namespace doclock::sqlite
