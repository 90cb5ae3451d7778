#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
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

/// The types of values in the order of OrderBy, as far as the server tells them apart.
enum class Rank : std::uint8_t { kNull, kNumber, kText, kBoolean, kDate, kRest };
Rank RankOf(const nlohmann::json& value) noexcept;

/// Is it a whole number below 2^53? Then the server compares it with others as OrderBy does: of
/// fractions a body that others wrote may have more digits than a double.
bool IsExact(const nlohmann::json& number);

/// A part of a search.
struct Pass {
  Rank rank;  ///< Which documents it shows; others may meet `where` too. Without an order: all.
  Where where;
  std::string order;  ///< The expressions to sort by; empty: the server has not that order.
};

/// The passes of a search, one after the other: they show what stands behind the filter's position.
/// The server may count some documents as behind it that are not.
std::vector<Pass> PassesOf(const Filter& filter);

/// A path into a body; it does not lead into arrays. SQL NULL if nothing is there.
std::string PathIntoBody(const std::vector<std::string>& path);

/// What an index of a path holds, and searches compare as well: nothing in place of a value that is
/// too long for an index, and dates as `[n]`, so that they have their order.
std::string ForIndex(const std::string& path);
/// The same of a unique index: neither a missing value nor a null repeats another one.
std::string ForUniqueIndex(const std::string& path);

}  // namespace doclock::postgresql
