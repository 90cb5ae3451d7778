#include "postgresql/tables/indexed.h"

#include <cmath>

#include "document/json/typed_value.h"
#include "postgresql/client/quoted.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

using Json = nlohmann::json;

}  // namespace

Rank RankOf(const Json& value) noexcept {
  if (value.is_null()) return Rank::kNull;
  if (value.is_number()) return Rank::kNumber;
  if (value.is_string()) return Rank::kText;
  if (value.is_boolean()) return Rank::kBoolean;
  return detail::KindOf(value) == detail::TypedKind::kDate ? Rank::kDate : Rank::kRest;
}

bool ComparesAlike(const Json& number) {
  constexpr double kExact =
      9007199254740992;  // from here on they have more digits than are written
  return std::abs(number.get<double>()) < kExact;
}

bool IsExact(const Json& number) {
  const auto value = number.get<double>();
  return ComparesAlike(number) && value == std::trunc(value);
}

Bounds BoundsOf(Rank rank) {
  if (rank == Rank::kNumber)
    return {"'-9e131071'", "'9e131071'"};  // beyond all that fit (CheckForJsonb)
  if (rank == Rank::kBoolean) return {"'false'", "'true'"};
  return {"'[-1e19]'", "'[1e19]'"};
}

std::string Indexed(const Json& value) {
  if (!value.is_object()) return value.dump();
  return "[" + value.at("$date").at("$numberLong").get<std::string>() + "]";
}

std::string ForIndex(const std::string& path) {
  return "(CASE WHEN octet_length(" + path + "::text) <= " + std::to_string(kLongestIndexed) +
         " THEN coalesce(('[' || substring(" + path +
         " #>> '{$date,$numberLong}' from '^(0|-?[1-9][0-9]{0,18})$') || ']')::jsonb, " +
         ForUniqueIndex(path) + ") END)";
}

std::string ForUniqueIndex(const std::string& path) { return "NULLIF(" + path + ", 'null')"; }

std::string PathIntoBody(const std::vector<std::string>& path) {
  std::string sql = "body";
  for (const std::string& name : path) sql += " -> " + QuotedText(name);
  return "(" + sql + ")";
}

}  // namespace doclock::postgresql
