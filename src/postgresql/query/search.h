#pragma once

#include <string>
#include <vector>

#include "doclock/filter.h"
#include "doclock/store/locks.h"
#include "postgresql/client/values.h"
#include "postgresql/tables/indexed.h"

namespace doclock::postgresql {

/// A condition on rows, and its values.
struct Where {
  std::string sql = "true";
  Parameters parameters;
};

/// A condition that all documents meet that the filter selects. Others may meet it too.
Where WhereOf(const Filter& filter);
/// The same of the locks that a query asks for.
Where WhereOf(const LockQuery& query);

/// An expression: the text of a body that has those members only that the filter looks at.
std::string MembersFor(const Filter& filter);

/// A part of a search.
struct Pass {
  Rank rank;  ///< Which documents it shows; others may meet `where` too. Without an order: all.
  Where where;
  std::string order;  ///< The expressions to sort by; empty: the server has not that order.
};

/// The passes of a search, one after the other: they show what stands behind the filter's position.
/// The server may count some documents as behind it that are not.
std::vector<Pass> PassesOf(const Filter& filter);

}  // namespace doclock::postgresql
