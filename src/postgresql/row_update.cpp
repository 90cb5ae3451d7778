#include "postgresql/row_update.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace doclock::postgresql {
namespace {

std::string Sql(const std::string& table, const std::string& source, const std::string& condition,
                const std::string& changes, const std::string& returns) {
  // The time of a statement is not that of its rows.
  return "UPDATE " + table + " SET " + changes +
         " FROM (SELECT d.ctid AS at, clock_timestamp() AS now, given.* FROM " + source + " JOIN " +
         table +
         " AS d ON key_kind = given.kind AND key_number = given.number"
         " AND key_text = given.text WHERE " +
         condition + " FOR NO KEY UPDATE OF d SKIP LOCKED) AS given WHERE " + table +
         ".ctid = given.at RETURNING " + returns;
}

/// PostgreSQL's number of a type.
std::int64_t Oid(const std::string& type) {
  static const std::pair<const char*, int> kAll[] = {
      {"int2", 21}, {"int8", 20}, {"text", 25}, {"uuid", 2950}, {"jsonb", 3802}};
  return std::ranges::find(kAll, type, &std::pair<const char*, int>::first)->second;
}

}  // namespace

RowUpdate::RowUpdate(const std::string& table, const std::vector<Given>& given,
                     const std::string& condition, const std::string& changes,
                     const std::string& returns) {
  std::vector<Given> all{{"kind", "int2"}, {"number", "int8"}, {"text", "text"}};
  all.insert(all.end(), given.begin(), given.end());
  std::string values, arrays, names;
  for (const Given& one : all) {
    types_.push_back(one.type);
    const std::string place = "$" + std::to_string(types_.size()) + "::" + one.type;
    values += place + " AS " + one.name + ", ";
    arrays += (arrays.empty() ? "" : ", ") + place + "[]";
    names += one.name + ", ";
  }
  const auto sql = [&](const std::string& source) {
    return Sql(table, source, condition, changes, "given.place, " + returns);
  };
  one_.sql = sql("(SELECT " + values + "1::int8 AS place) AS given");
  many_.sql = sql("unnest(" + arrays + ") WITH ORDINALITY AS given(" + names + "place)");
}

std::size_t RowUpdate::Send(Connection& connection, std::span<const Parameters* const> keys) const {
  if (keys.size() == 1) return connection.Send(one_, *keys.front());
  Parameters arrays;
  for (std::size_t i = 0; i < types_.size(); ++i) {
    std::vector<Parameters::Value> column;
    for (const Parameters* const key : keys) column.push_back(key->values()[i]);
    arrays.Array(Oid(types_[i]), column);
  }
  return connection.Send(many_, arrays);
}

}  // namespace doclock::postgresql
