#include "postgresql/tables/indexed.h"

#include "postgresql/client/quoted.h"

namespace doclock::postgresql {

std::string Indexed(const nlohmann::json& value) {
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
