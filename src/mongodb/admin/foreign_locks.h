#pragma once

#include <string_view>
#include <vector>

#include "doclock/store.h"
#include "mongodb/client/reply.h"

namespace doclock::mongodb {

// Locks that another library than expected keeps in a collection, whose programs would not see
// those of doclock. As in collection_rules.h, all findings are kProblem, and their texts begin with
// a verb. `library` is the one whose layout the collection was given; empty: none's.

/// The question whose answer shows one of the collection's first documents that holds such locks.
Doc ForeignLocksIn(const Collection& collection, std::string_view library);

/// What that answer says.
std::vector<Finding> JudgeForeignLocks(const Reply& shown, const Collection& collection,
                                       std::string_view library);

/// What the answer to IndexesOf says of such locks, which leave nothing else once released.
std::vector<Finding> JudgeForeignIndexes(const Reply& list, std::string_view library);

}  // namespace doclock::mongodb
