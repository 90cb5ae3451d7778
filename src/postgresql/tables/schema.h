#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doclock/store/store.h"
#include "postgresql/client/pool.h"
#include "postgresql/tables/postgresql_collection.h"

namespace doclock::postgresql {

// What is created in the database. Throws Refusal, Loss and Error.

/// Checks the server, and returns the schema that the tables are in: the first of the search path.
std::string FindSchema(Pool& pool, Deadline deadline);

/// Creates the collection's table unless it is there, and checks it.
void CreateTable(Connection& connection, const std::string& schema,
                 const PostgresqlCollection& collection, Deadline deadline);

/// The collections that have a table.
std::vector<std::string> ListCollections(Connection& connection, const std::string& schema,
                                         Deadline deadline);

/// Creates an index of a field or more unless it is there. @throws ConflictException
void CreateIndex(Connection& connection, const PostgresqlCollection& collection,
                 const IndexSpec& index, Deadline deadline);

}  // namespace doclock::postgresql
