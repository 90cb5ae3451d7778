#pragma once

#include <functional>
#include <string>
#include <vector>

#include "doclock/filter.h"
#include "doclock/store/store.h"
#include "sqlite/db/connection.h"
#include "sqlite/tables/collection.h"
#include "sqlite/tables/lock_reader.h"

namespace doclock::sqlite {

/// Shows the documents that meet the filter, in its order, until `visit` returns false or the limit
/// is reached. Call it inside a transaction, so that it sees one moment.
void Search(Connection& connection, const LockReader& reader, const SqliteCollection& collection,
            const Filter& filter, const std::function<bool(QueryRow&&)>& visit);

/// Returns the statements of a search, for tests of how SQLite runs them.
std::vector<std::string> SearchSql(Connection& connection, const SqliteCollection& collection,
                                   const Filter& filter);

}  // namespace doclock::sqlite
