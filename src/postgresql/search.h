#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doclock/filter.h"
#include "doclock/store/locks.h"
#include "postgresql/values.h"

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

/// The end of a statement: the first rows that meet `where`, in the order of keys, behind `after`,
/// whose key it adds to the values.
std::string PageOf(Where& where, const std::optional<Key>& after, bool descending,
                   std::int64_t rows);

/// A path into a body; it does not lead into arrays. SQL NULL if nothing is there.
std::string PathIntoBody(const std::vector<std::string>& path);

/// What an index of a path holds, and searches compare as well: nothing in place of a value that is
/// too long for an index.
std::string ForIndex(const std::string& path);
/// The same of a unique index: neither a missing value nor a null repeats another one.
std::string ForUniqueIndex(const std::string& path);

}  // namespace doclock::postgresql
