#include "postgresql/search.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "document/json/row_filter.h"
#include "postgresql/texts.h"

namespace doclock::postgresql {
namespace {

using Json = nlohmann::json;

/// Of a value in an index, in bytes of its text. An entry of several has to fit into 2,700, and of
/// an array it may be four times as long.
constexpr std::size_t kLongestIndexed = 500;

/// A lock that is over, or none. The server's clock goes on while it searches: later all the more.
constexpr const char* kFree =
    " AND (lock_id IS NULL OR lock_time IS NULL OR lock_ttl IS NULL"
    " OR lock_time + least(lock_ttl, 31536000000) * interval '1 ms' <= clock_timestamp())";
/// What is malformed counts as locked.
constexpr const char* kLocked = " AND (lock_id IS NOT NULL OR lock_version < 0)";

std::string Place(const Parameters& parameters) {
  return "$" + std::to_string(parameters.values().size());
}

std::string LastThree(const Parameters& parameters) {
  const std::size_t last = parameters.values().size();
  return "($" + std::to_string(last - 2) + ", $" + std::to_string(last - 1) + ", $" +
         std::to_string(last) + ")";
}

void AddKeyTo(Where& where, const Key& key) {
  AddKey(where.parameters, key);
  where.sql += " AND (key_kind, key_number, key_text) = " + LastThree(where.parameters);
}

/// Does the number compare with the same bodies here and there? Large doubles have more digits than
/// are written.
bool ComparesAlike(const Json& number) {
  constexpr double kExact = 9007199254740992;
  return std::abs(number.get<double>()) < kExact;
}

const char* TypeOf(const Json& value) { return value.is_boolean() ? "boolean" : "number"; }

const char* OperatorOf(Filter::Op op) {
  switch (op) {
    case Filter::Op::kLess:
      return " < ";
    case Filter::Op::kGreater:
      return " > ";
    case Filter::Op::kAtLeast:
      return " >= ";
    case Filter::Op::kEqual:
      return " = ";
    default:
      return " <= ";
  }
}

/// What is no date, or looks like one that is none, is for the filter itself.
void AddDate(Where& where, const std::string& at, const std::string& op, const Json& date) {
  if (!date.contains("$date")) return;
  where.parameters.Text(date.at("$date").at("$numberLong").get<std::string>());
  const std::string time = "(" + at + " #>> '{$date,$numberLong}')";
  where.sql += " AND CASE WHEN " + time + " ~ '^-?[0-9]{1,19}$' THEN " + time + "::numeric" + op +
               Place(where.parameters) + "::text::numeric ELSE false END";
}

/// A range has values of one type. jsonb has an order of its own for texts.
void AddTo(Where& where, const Filter::Condition& condition) {
  if (detail::IsKeyPath(condition.path) || condition.op == Filter::Op::kNotEqual) return;
  const Json& value = condition.value;
  const std::string at = PathIntoBody(condition.path), op = OperatorOf(condition.op);
  const bool equals = condition.op == Filter::Op::kEqual;
  if (value.is_null()) {
    where.sql += equals ? " AND coalesce(" + at + ", 'null') = 'null'" : " AND false";
  } else if (value.is_string() && !equals) {
    where.parameters.Text(Escaped(value.get_ref<const std::string&>()));
    where.sql += " AND jsonb_typeof(" + at + ") = 'string' AND (" + at +
                 " #>> '{}') COLLATE \"C\"" + op + Place(where.parameters);
  } else if (value.is_object()) {
    AddDate(where, at, op, value);
  } else if (!value.is_number() || ComparesAlike(value)) {
    const std::string json = ToStored(value.dump()).json;
    where.parameters.Jsonb(json);
    const std::string compared = op + Place(where.parameters);
    where.sql += " AND " + at + compared + " AND " + ForUniqueIndex(at) + compared;
    // The server may write the same value at twice the length.
    if (json.size() <= kLongestIndexed / 2) where.sql += " AND " + ForIndex(at) + compared;
    if (!equals) where.sql += " AND jsonb_typeof(" + at + ") = '" + TypeOf(value) + "'";
  }
}

}  // namespace

std::string PageOf(Where& where, const std::optional<Key>& after, bool descending,
                   std::int64_t rows) {
  std::string sql = " WHERE " + where.sql;
  if (after) {
    AddKey(where.parameters, *after);
    sql += " AND (key_kind, key_number, key_text) " + std::string(descending ? "<" : ">") + " " +
           LastThree(where.parameters);
  }
  const char* const direction = descending ? " DESC" : "";
  return sql + " ORDER BY key_kind" + direction + ", key_number" + direction + ", key_text" +
         direction + " LIMIT " + std::to_string(rows);
}

std::string MembersFor(const Filter& filter) {
  std::set<std::string> names{filter.order().front()};
  for (const Filter::Condition& condition : filter.conditions()) {
    if (!detail::IsKeyPath(condition.path)) names.insert(condition.path.front());
  }
  std::string members;
  for (const std::string& name : names) {
    const std::string at = QuotedText(Escaped(name));
    members += (members.empty() ? "" : ", ") + at + ", body -> " + at;
  }
  return "CASE WHEN body_text IS NULL THEN jsonb_build_object(" + members +
         ")::text ELSE body_text END";
}

std::string ForIndex(const std::string& path) {
  return "(CASE WHEN octet_length(" + path + "::text) <= " + std::to_string(kLongestIndexed) +
         " THEN " + path + " END)";
}

std::string ForUniqueIndex(const std::string& path) { return "NULLIF(" + path + ", 'null')"; }

std::string PathIntoBody(const std::vector<std::string>& path) {
  std::string sql = "body";
  for (const std::string& name : path) sql += " -> " + QuotedText(Escaped(name));
  return "(" + sql + ")";
}

Where WhereOf(const Filter& filter) {
  Where where;
  if (const auto key = EqualKey(filter)) AddKeyTo(where, *key);
  for (const Filter::Condition& condition : filter.conditions()) AddTo(where, condition);
  if (filter.lock_state() == Filter::LockState::kFree) where.sql += kFree;
  if (filter.lock_state() == Filter::LockState::kLocked) where.sql += kLocked;
  return where;
}

Where WhereOf(const LockQuery& query) {
  Where where;
  if (query.key) AddKeyTo(where, *query.key);
  if (!query.unheld) where.sql += kLocked;
  return where;
}

}  // namespace doclock::postgresql
