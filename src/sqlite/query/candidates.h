#pragma once

#include <functional>
#include <string>
#include <vector>

#include "doclock/filter.h"
#include "sqlite/db/connection.h"
#include "sqlite/tables/collection.h"
#include "sqlite/tables/lock_reader.h"

namespace doclock::sqlite {

/// A document that meets a filter's conditions; the caller checks its lock state.
struct Candidate {
  Key key;
  LoadedDocument document;
};

/// Receives candidates until it returns false.
using CandidateVisitor = std::function<bool(Candidate&&)>;

/// Shows the documents that meet the conditions, in the filter's order. SQLite narrows them down
/// and sorts; the filter itself decides. Call it inside a transaction, so that it sees one moment.
void VisitCandidates(Connection& connection, LockReader& reader, const SqliteCollection& collection,
                     const Filter& filter, const CandidateVisitor& visit);

/// The SELECT statements of a query, for tests of how SQLite runs them.
std::vector<std::string> CandidateSql(Connection& connection, const SqliteCollection& collection,
                                      const Filter& filter);

}  // namespace doclock::sqlite
