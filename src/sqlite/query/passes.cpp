#include "sqlite/query/passes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace doclock::sqlite {
namespace {

constexpr const char* kKeyOrder = "d.key";

std::string RankCondition(Rank rank, const std::string& field) {
  switch (rank) {
    case kNull:
      return field + " IS NULL";
    case kNumber:
      return field + " < ''";
    case kText:
      return field + " >= ''";
    case kBoolean:
      return field + " BETWEEN 0 AND 1";
    default:
      // JSON text of the other types begins with '[' or '{'.
      return field + " >= '[' AND " + field + " < '|'";
  }
}

/// The ranks that can meet the conditions on the field of the order, in its order; all if there are
/// no conditions.
std::vector<Rank> RanksFor(const Filter& filter) {
  for (const Filter::Condition& condition : filter.conditions()) {
    if (condition.path == filter.order() && condition.op != Filter::Op::kNotEqual) {
      return {RankOf(condition.value)};
    }
  }
  std::vector<Rank> all = {kNull, kNumber, kText, kBoolean, kRest};
  if (filter.descending()) std::reverse(all.begin(), all.end());
  return all;
}

const char* Behind(const Filter& filter) { return filter.descending() ? " < " : " > "; }
const char* Direction(const Filter& filter) { return filter.descending() ? " DESC" : ""; }

/// SQL for what `expression` gives for the position's document: SQLite compares it with values that
/// it read in the same way.
std::string OfPosition(const std::string& expression) {
  return "(SELECT " + expression + " FROM (SELECT ? AS body))";
}

/// A body that has the position's value in the field of the order.
SqlValue PositionBody(const Filter& filter) {
  nlohmann::json body = nlohmann::json::object();
  nlohmann::json* at = &body;
  for (const std::string& name : filter.order()) at = &(*at)[name];
  *at = filter.after()->value;
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The rest of the rank in which the position is.
void AddPassesBehind(const Filter& filter, const std::string& field, const Pass& whole,
                     std::vector<Pass>& passes) {
  const std::string value = OfPosition(field);
  const SqlValue body = PositionBody(filter);
  Pass ties = whole, others = whole;
  ties.where += " AND " + field + " = " + value + " AND d.key > ?";
  ties.values = {body, filter.after()->key};
  ties.order = kKeyOrder;
  others.where += " AND " + field + Behind(filter) + value;
  others.values = {body};
  passes.push_back(std::move(ties));
  passes.push_back(std::move(others));
}

}  // namespace

Rank RankOf(const nlohmann::json& value) noexcept {
  if (value.is_null()) return kNull;
  if (value.is_number()) return kNumber;
  if (value.is_string()) return kText;
  if (value.is_boolean()) return kBoolean;
  return kRest;
}

Pass PassByKey(const Filter& filter) {
  Pass pass;
  pass.order = std::string(kKeyOrder) + Direction(filter);
  if (filter.after()) {
    pass.where = std::string("d.key") + Behind(filter) + "?";
    pass.values = {filter.after()->key};
  }
  return pass;
}

std::vector<Pass> IndexedPasses(const Filter& filter, const std::string& field) {
  std::vector<Pass> passes;
  const Rank first = filter.after() ? RankOf(filter.after()->value) : kAnyRank;
  for (const Rank rank : RanksFor(filter)) {
    if (first != kAnyRank && (filter.descending() ? rank > first : rank < first)) continue;
    if (rank == kRest) {
      passes.push_back({kRest, RankCondition(kRest, field), "", {}});
      continue;
    }
    const std::string by_value = field + Direction(filter) + ", " + kKeyOrder;
    Pass pass{rank, RankCondition(rank, field), rank == kNull ? kKeyOrder : by_value, {}};
    if (rank != first) {
      passes.push_back(std::move(pass));
    } else if (rank == kNull) {
      pass.where += " AND d.key > ?";
      pass.values = {filter.after()->key};
      passes.push_back(std::move(pass));
    } else {
      AddPassesBehind(filter, field, pass, passes);
    }
  }
  return passes;
}

}  // namespace doclock::sqlite
