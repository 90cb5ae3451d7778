#include "postgresql/query/search.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "postgresql/client/quoted.h"
#include "postgresql/tables/indexed.h"
#include "postgresql/tables/rows.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

using sql::Path;
using sql::Rank;

/// A lock that is over, or none. The server's clock goes on while it searches: later all the more.
constexpr const char* kFree =
    " AND (lock_id IS NULL OR lock_time IS NULL OR lock_ttl IS NULL"
    " OR lock_time + least(lock_ttl, 31536000000) * interval '1 ms' <= clock_timestamp())";
/// What is malformed counts as locked.
constexpr const char* kLocked = " AND (lock_id IS NOT NULL OR lock_version < 0)";

std::string PlaceOf(const sql::Values& values) { return "$" + std::to_string(values.size()); }

/// A text, and NULL of other values. jsonb has an order of its own for texts.
std::string AsText(const std::string& at) {
  return "(CASE jsonb_typeof(" + at + ") WHEN 'string' THEN " + at + " #>> '{}' END COLLATE \"C\")";
}

}  // namespace

std::span<const sql::Ranks> PostgresqlDialect::ranks() const noexcept {
  static constexpr std::array<sql::Ranks, 5> kAll{{{Rank::kNull, Rank::kNull},
                                                   {Rank::kNumber, Rank::kNumber},
                                                   {Rank::kText, Rank::kText},
                                                   {Rank::kBoolean, Rank::kDate},
                                                   {Rank::kRest}}};
  return kAll;
}

std::string PostgresqlDialect::Field(const Path& path, Rank rank) const {
  const std::string at = PathIntoBody(path);
  return rank == Rank::kText ? AsText(at) : ForIndex(at);
}

std::string PostgresqlDialect::Compare(const Path& path, const char* op,
                                       const nlohmann::json& value, sql::Values& values) const {
  const std::string at = PathIntoBody(path);
  const bool equals = std::string_view(op) == " = ";
  const Rank rank = sql::RankOf(value);
  if (rank == Rank::kText && !equals) {
    values.emplace_back(value.get<std::string>());
    return " AND " + AsText(at) + op + PlaceOf(values);
  }
  const std::string json = Indexed(value);
  values.emplace_back(json);
  const std::string compared = op + PlaceOf(values) + "::text::jsonb";
  // The server may write the same value at twice the length.
  const bool fits = json.size() <= kLongestIndexed / 2;
  // A unique index has another expression. Where the server may look for the order in the same
  // index, a repeated condition would mislead it about how many documents there are.
  const bool apart = equals ? path != filter_.order() : filter_.order().empty();
  return " AND " + (fits ? ForIndex(at) : at) + compared +
         (rank != Rank::kDate && apart ? " AND " + ForUniqueIndex(at) + compared : "");
}

std::string PostgresqlDialect::From(const Path& path, Rank rank) const {
  const std::string at = PathIntoBody(path);
  switch (rank) {
    case Rank::kNull:  // an index tells neither from a value that is too long
      return " AND " + ForIndex(at) + " IS NULL AND coalesce(" + at + ", 'null') = 'null'";
    case Rank::kNumber:
      return " AND " + ForIndex(at) + " >= '-9e131071'";  // beyond all that fit (CheckForJsonb)
    case Rank::kText:
      return " AND jsonb_typeof(" + at + ") = 'string'";
    case Rank::kBoolean:
      return " AND " + ForIndex(at) + " >= 'false'";
    case Rank::kDate:
      return " AND " + ForIndex(at) + " >= '[-1e19]'";
    case Rank::kRest:
      break;
  }
  return " AND jsonb_typeof(" + at + ") IN ('object', 'array')";
}

std::string PostgresqlDialect::Until(const Path& path, Rank rank) const {
  static constexpr std::array kLast{"", "'9e131071'", "", "'true'", "'[1e19]'", ""};
  const std::string last = kLast.at(static_cast<std::size_t>(rank));
  return last.empty() ? "" : " AND " + ForIndex(PathIntoBody(path)) + " <= " + last;
}

std::string PostgresqlDialect::CompareKey(const char* op, const Key& key,
                                          sql::Values& values) const {
  KeyColumns columns = ColumnsOf(key);
  values.emplace_back(std::int64_t{columns.kind});
  const std::string kind = PlaceOf(values);
  values.emplace_back(columns.number);
  const std::string number = PlaceOf(values);
  values.emplace_back(std::move(columns.text));
  return " AND (" + std::string(kKeyColumns) + ")" + op + "(" + kind + "::int8, " + number +
         "::int8, " + PlaceOf(values) + ")";
}

std::string PostgresqlDialect::ByKey(bool descending) const {
  return descending ? "key_kind DESC, key_number DESC, key_text DESC" : std::string(kKeyColumns);
}

std::string PostgresqlDialect::HasState(Filter::LockState state) const {
  if (state == Filter::LockState::kAny) return "";
  return state == Filter::LockState::kFree ? kFree : kLocked;
}

/// A fraction that others wrote may have more digits than a double, and from 2^53 on numbers have
/// more digits than are written.
bool PostgresqlDialect::IsExact(const nlohmann::json& number) const {
  constexpr double kExact = 9007199254740992;
  const auto value = number.get<double>();
  return std::fabs(value) < kExact && value == std::trunc(value);
}

Parameters ParametersOf(const sql::Values& values) {
  Parameters parameters;
  for (const auto& value : values) {
    if (const auto* const number = std::get_if<std::int64_t>(&value)) {
      parameters.Int8(*number);
    } else {
      parameters.Text(std::get<std::string>(value));
    }
  }
  return parameters;
}

sql::Select SelectOf(const LockQuery& query) {
  const Filter all;
  const PostgresqlDialect dialect(all);
  sql::Select select;
  select.where = "true";
  select.order = dialect.ByKey(false);
  if (query.key) select.where += dialect.CompareKey(" = ", *query.key, select.values);
  if (!query.unheld) select.where += kLocked;
  return select;
}

std::string MembersFor(const Filter& filter) {
  std::set<std::string> names{filter.order().front()};
  for (const Filter::Condition& condition : filter.conditions()) {
    if (!detail::IsKeyPath(condition.path)) names.insert(condition.path.front());
  }
  std::string members;
  for (const std::string& name : names) {
    const std::string at = QuotedText(name);
    members += (members.empty() ? "" : ", ") + at + ", body -> " + at;
  }
  return "jsonb_build_object(" + members + ")::text";
}

}  // namespace doclock::postgresql
