#include "postgresql/tables/row_update.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace doclock::postgresql {
namespace {

std::string SqlOfMany(const std::string& table, const std::string& source,
                      const std::string& condition, const std::string& changes,
                      const std::string& returns) {
  // The time of a statement is not that of its rows.
  return "UPDATE " + table + " SET " + changes +
         " FROM (SELECT d.ctid AS at, clock_timestamp() AS now, given.* FROM " + source + " JOIN " +
         table +
         " AS d ON key_kind = given.kind AND key_number = given.number"
         " AND key_text = given.text WHERE " +
         condition + " FOR NO KEY UPDATE OF d SKIP LOCKED) AS given WHERE " + table +
         ".ctid = given.at RETURNING given.place, " + returns;
}

/// Puts `by` in the place of a name; no other name begins with it.
void Replace(std::string& text, const std::string& name, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; at += by.size()) {
    text.replace(at, name.size(), by);
  }
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
                     const std::string& returns, bool timed)
    : timed_(timed) {
  std::vector<Given> all{{"kind", "int2"}, {"number", "int8"}, {"text", "text"}};
  all.insert(all.end(), given.begin(), given.end());
  std::string arrays, names;
  // A grant that counts from before the wait for its row ends early, which is safe.
  std::string one = " SET " + changes +
                    " WHERE key_kind = given.kind AND key_number = given.number"
                    " AND key_text = given.text AND " +
                    condition + " RETURNING 1::int8, " + returns;
  Replace(one, "given.now", "statement_timestamp()");
  for (const Given& value : all) {
    types_.push_back(value.type);
    const std::string place = "$" + std::to_string(types_.size()) + "::" + value.type;
    arrays += (arrays.empty() ? "" : ", ") + place + "[]";
    names += value.name + ", ";
    Replace(one, "given." + value.name, place);
  }
  one_.sql = "UPDATE " + table + one;
  many_.sql =
      SqlOfMany(table, "unnest(" + arrays + ") WITH ORDINALITY AS given(" + names + "place)",
                condition, changes, returns);
}

std::size_t RowUpdate::Send(Connection& connection, std::span<const Parameters* const> keys,
                            bool may_wait) const {
  if (keys.size() == 1 && may_wait && !timed_) return connection.Send(one_, *keys.front());
  Parameters arrays;
  for (std::size_t i = 0; i < types_.size(); ++i) {
    std::vector<Parameters::Value> column;
    for (const Parameters* const key : keys) column.push_back(key->values()[i]);
    arrays.Array(Oid(types_[i]), column);
  }
  return connection.Send(many_, arrays);
}

}  // namespace doclock::postgresql
