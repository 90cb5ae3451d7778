#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doclock/store/index.h"
#include "postgresql/pool.h"
#include "postgresql/postgresql_collection.h"

namespace doclock::postgresql {

// What is created in the database. Throws Refusal, Loss and Error.

/// Checks the server, and returns the schema that the tables are in: the first of the search path.
std::string FindSchema(Pool& pool, Deadline deadline);

/// The epoch of this server, which doclock_meta keeps: its versions are above all that may have
/// been lost when it was a standby and was promoted, or when the tables were restored to another
/// server. Nothing if it has no timelines, or the user may not know or keep them.
std::optional<Epoch> FindEpoch(Connection& connection, const std::string& schema,
                               Deadline deadline);

/// Would FindEpoch know it, and may keep it? Stores nothing.
bool KnowsEpoch(Connection& connection, const std::string& schema, Deadline deadline);

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
