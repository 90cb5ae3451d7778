#include "sqlite/query/dialect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace doclock::sqlite {
namespace {

using sql::Path;
using sql::Rank;

/// What stands for null and a missing field.
constexpr const char* kNull = "-9e999";

/// SQLite compares names with the body's raw text, so it cannot find names that JSON escapes; and a
/// quote would end the name.
bool IsPlain(const std::string& name) noexcept {
  return std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; });
}

/// A JSON path as an SQL text.
std::string PathText(const Path& path) {
  std::string text = "'$";
  for (const std::string& name : path) {
    text += ".\"";
    for (const char c : name) text.append(c == '\'' ? 2 : 1, c);
    text += '"';
  }
  return text + "'";
}

std::string Extract(const std::string& path) { return "json_extract(body, " + path + ")"; }

/// A foreign body that is no JSON must not disturb queries for others: it has no fields.
std::string IfValid(const std::string& expression) {
  return "CASE WHEN json_valid(body) THEN " + expression + " END";
}

/// Older versions of SQLite cut texts off at NUL. So this reads NUL as two characters U+0001, and
/// U+0001 itself as U+0001 and U+0002: different texts stay different, and in the same order. (It
/// takes the value twice, because the extracted text is JSON then.)
std::string WithoutNul(const std::string& path) {
  return "json_extract(replace(replace(json_extract(body, " + path + ", " + path +
         "), '\\u0001', '\\u0001\\u0002'), '\\u0000', '\\u0001\\u0001'), '$[0]')";
}

/// Some builds of SQLite 3.37 to 3.40 read a fraction in a body with the decimal point of the
/// thread's locale, so that a unique index would take 12.25 and 12.75 for one value. A cast never
/// does, and stops at the comma behind the number. (With two paths the number comes as its text.)
/// This store's own connections run in the locale C; but other programs may write to its tables,
/// and their connections evaluate the indexes' expressions, too.
std::string Fraction(const std::string& path) {
  return "CAST(substr(json_extract(body, " + path + ", " + path + "), 2) AS REAL)";
}

std::string AsBlob(const std::string& text) { return "CAST(" + text + " AS BLOB)"; }

/// Digits that have the dates' order: the sign, and the rest of the number in two's complement.
std::string DateOr(const std::string& rest, const Path& path) {
  Path inner = path;
  inner.insert(inner.end(), {"$date", "$numberLong"});
  const std::string number = "CAST(" + Extract(PathText(inner)) + " AS INTEGER)";
  return "CASE WHEN " + Extract(PathText(path)) + R"( = '{"$date":{"$numberLong":"' || )" + number +
         R"( || '"}}' THEN )" +
         AsBlob("printf('4%d%019d', " + number + " >= 0, " + number + " & 9223372036854775807)") +
         " ELSE " + rest + " END";
}

/// A body that has the value in the field.
std::string BodyWith(const Path& path, const nlohmann::json& value) {
  nlohmann::json body = nlohmann::json::object();
  nlohmann::json* at = &body;
  for (const std::string& name : path) at = &(*at)[name];
  *at = value;
  return body.dump();
}

/// The bytes of a UUID or an ObjectId.
std::span<const std::uint8_t> BytesOf(const Key& key) noexcept {
  if (const auto* uuid = std::get_if<Uuid>(&key.value())) return {uuid->begin(), uuid->end()};
  if (const auto* id = std::get_if<ObjectId>(&key.value())) return id->bytes;
  return {};
}

/// SQLite's order of keys.
bool StandsBefore(const Key& a, const Key& b) noexcept {
  static constexpr std::array kPlaces{1, 0, 2, 2};  // text, integer, UUID, ObjectId
  const int first = kPlaces.at(a.value().index()), second = kPlaces.at(b.value().index());
  if (first != second) return first < second;
  return first == 2 ? std::ranges::lexicographical_compare(BytesOf(a), BytesOf(b)) : a < b;
}

std::string PlaceOf(sql::Values& values) { return "?" + std::to_string(values.size()); }

}  // namespace

std::string FieldSql(const Path& path) {
  const std::string text = PathText(path);
  const std::string rest = AsBlob("'5' || " + Extract(text));
  return "coalesce(" +
         IfValid("CASE json_type(body, " + text + ") WHEN 'real' THEN " + Fraction(text) +
                 " WHEN 'false' THEN x'3330' WHEN 'true' THEN x'3331' WHEN 'array' THEN " + rest +
                 " WHEN 'object' THEN " + DateOr(rest, path) +
                 " ELSE CASE WHEN instr(body, '\\u000') THEN " + WithoutNul(text) + " ELSE " +
                 Extract(text) + " END END") +
         ", " + kNull + ")";
}

std::string TypeSql(const Path& path) {
  return IfValid("NULLIF(replace(json_type(body, " + PathText(path) +
                 "), 'real', 'integer'), 'null')");
}

std::span<const sql::Ranks> SqliteDialect::ranks() const noexcept {
  static constexpr std::array<sql::Ranks, 2> kAll{{{Rank::kNull, Rank::kDate}, {Rank::kRest}}};
  return kAll;
}

bool SqliteDialect::Names(const Path& path) const { return std::ranges::all_of(path, IsPlain); }

std::string SqliteDialect::Compare(const Path& path, const char* op, const nlohmann::json& value,
                                   sql::Values& values) const {
  // SQLite reads it as it reads those of documents.
  values.emplace_back(BodyWith(path, value));
  const std::string field = FieldSql(path);
  return " AND " + field + op + "(SELECT " + field + " FROM (SELECT " + PlaceOf(values) +
         " AS body))";
}

std::string SqliteDialect::From(const Path& path, Rank rank) const {
  static constexpr std::array kFirst{
      "", " >= -1.7976931348623157e308", " >= ''", " >= x'33'", " >= x'34'", " >= x'35'"};
  const char* const from = kFirst.at(static_cast<std::size_t>(rank));
  return rank == Rank::kNull ? "" : " AND " + FieldSql(path) + from;
}

std::string SqliteDialect::Until(const Path& path, Rank rank) const {
  static constexpr std::array kBehind{"", " < ''", " < x''", " < x'34'", " < x'35'"};
  if (rank == Rank::kRest) return "";
  const char* const up_to = kBehind.at(static_cast<std::size_t>(rank));
  return " AND " + FieldSql(path) + (rank == Rank::kNull ? std::string(" = ") + kNull : up_to);
}

std::string SqliteDialect::CompareKey(const char* op, const Key& key, sql::Values& values) const {
  values.emplace_back(key);
  return std::string(" AND d.key") + op + PlaceOf(values);
}

KeyOrder SqliteDialect::keys() const noexcept { return StandsBefore; }

/// SQLite may have no more than a double in place of a larger number.
bool SqliteDialect::IsExact(const nlohmann::json& number) const {
  constexpr double kExact = 9007199254740992;  // 2^53
  return std::fabs(number.get<double>()) < kExact;
}

}  // namespace doclock::sqlite
