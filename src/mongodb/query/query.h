#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "doclock/filter.h"
#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// See Store::Query. @throws StoreException, std::invalid_argument
void Query(Server& server, const Collection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, std::chrono::milliseconds budget);

/// A Filter's conditions as a query that matches the same documents: where MongoDB would look into
/// arrays, doclock does not.
/// @throws std::invalid_argument for a field whose name begins with '$', which MongoDB cannot name.
Doc MatchOf(const Filter& filter);

/// Several queries, one after the other, show the documents in the order of Filter::OrderBy,
/// because MongoDB has another order of types.
struct Pass {
  Doc match;  ///< Beside MatchOf.
  Doc sort;
};
/// @throws std::invalid_argument as MatchOf.
std::vector<Pass> PassesOf(const Filter& filter);

}  // namespace doclock::mongodb
