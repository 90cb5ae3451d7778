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
  std::string order;             ///< ORDER BY
  std::vector<SqlValue> values;  ///< For the ? in `where`.
};

/// All documents by their keys, in SQLite's own order, in which every index is: integers, texts,
/// then UUIDs and ObjectIds together by their bytes. Behind the filter's position if it has no
/// other order.
Pass PassByKey(const Filter& filter);

/// Several passes, each over a part of an index.
std::vector<Pass> IndexedPasses(const Filter& filter, const std::string& field);

/// Documents of `kRest` by their keys, wherever they stand in the filter's order.
Pass PassOfRest(const std::string& field);

/// One scan that sorts all but kRest, with the rank as its first key.
/// @param with_rest also shows documents of kRest, by their keys
Pass SortingPass(const Filter& filter, const std::string& field, bool with_rest);

}  // namespace doclock::sqlite
