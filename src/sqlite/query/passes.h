#pragma once

#include <string>
#include <vector>

#include "doclock/filter.h"
#include "sqlite/query/field_sql.h"

namespace doclock::sqlite {

/// The order of types in Filter::OrderBy. SQLite sorts no values of kRest: dates and the like are
/// text to it.
enum Rank : int { kAnyRank = -1, kNull, kNumber, kText, kBoolean, kRest };

Rank RankOf(const nlohmann::json& value) noexcept;

/// One SELECT. If an index does the sorting, several of them, one after the other, give the
/// filter's order: SQLite orders values of one rank as the filter does, but orders the ranks
/// differently.
struct Pass {
  Rank rank = kAnyRank;          ///< Only documents whose field of the order is of this rank.
  std::string where;             ///< The SQL condition for that.
  std::string order;             ///< ORDER BY; empty: SQLite cannot sort them as the filter does.
  std::vector<SqlValue> values;  ///< For the ? in `where`.
};

/// Documents in the order of keys and behind the filter's position. SQLite's own order, in which
/// every index is, has integers, texts, then UUIDs and ObjectIds together by their bytes.
Pass PassByKey(const Filter& filter);

/// Documents in the order of a field that an index has, behind the filter's position: several
/// passes, each over a part of the index.
std::vector<Pass> IndexedPasses(const Filter& filter, const std::string& field);

}  // namespace doclock::sqlite
