#include "sqlite/query/field_sql.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "document/json/row_filter.h"

namespace doclock::sqlite {
namespace {

using Op = Filter::Op;

/// SQLite compares names with the body's raw text, so it cannot find names that JSON escapes; and a
/// quote would end the name.
bool IsPlain(const std::string& name) noexcept {
  return std::none_of(name.begin(), name.end(),
                      [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; });
}

/// A JSON path as an SQL text.
std::optional<std::string> PathText(const Path& path) {
  std::string text = "'$";
  for (const std::string& name : path) {
    if (!IsPlain(name)) return std::nullopt;
    text += ".\"";
    for (const char c : name) {
      if (c == '\'') text += '\'';
      text += c;
    }
    text += '"';
  }
  return text + "'";
}

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

/// SQLite reads decimal fractions less exactly than this library: let slightly smaller and larger
/// values through.
double Below(double value) noexcept { return value - std::fabs(value) * 1e-14; }
double Above(double value) noexcept { return value + std::fabs(value) * 1e-14; }

Term NumberTerm(const std::string& field, Op op, const nlohmann::json& value) {
  const double number = value.get<double>();
  const std::string at_least = field + " >= ? AND " + field + " < ''";
  switch (op) {
    case Op::kLess:
    case Op::kAtMost:
      return {field + " <= ?", {Above(number)}};
    case Op::kGreater:
    case Op::kAtLeast:
      return {at_least, {Below(number)}};
    default:
      break;
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value.is_number_integer() && std::fabs(number) < kExact) {
    return {field + " = ?", {value.get<std::int64_t>()}};
  }
  return {field + " BETWEEN ? AND ?", {Below(number), Above(number)}};
}

std::optional<Term> TextTerm(const std::string& field, Op op, const std::string& text) {
  // FieldSql does not give the value itself for these.
  if (text.find('\0') != text.npos || text.find('\1') != text.npos ||
      text.find("\\u000") != text.npos) {
    return std::nullopt;
  }
  switch (op) {
    case Op::kLess:
    case Op::kAtMost:
      return Term{field + " <= ? AND " + field + " >= ''", {text}};
    case Op::kGreater:
    case Op::kAtLeast:
      return Term{field + " >= ?", {text}};
    default:
      return Term{field + " = ?", {text}};
  }
}

/// Keys of one kind are ordered as a filter orders them; no comparison mixes kinds.
std::optional<Term> KeyTerm(const Filter::Condition& condition) {
  static constexpr std::array kOperators{"=", "<>", "<", "<=", ">", ">="};
  const auto key = KeyFrom(condition.value);
  if (!key || condition.op == Op::kNotEqual) return std::nullopt;
  return Term{std::string("d.key ") + kOperators.at(static_cast<std::size_t>(condition.op)) + " ?",
              {*key}};
}

}  // namespace

std::optional<std::string> FieldSql(const Path& path) {
  const auto text = PathText(path);
  if (!text) return std::nullopt;
  return IfValid("CASE WHEN json_type(body, " + *text + ") = 'real' THEN " + Fraction(*text) +
                 " WHEN instr(body, '\\u000') THEN " + WithoutNul(*text) +
                 " ELSE json_extract(body, " + *text + ") END");
}

std::optional<std::string> KindSql(const Path& path) {
  const auto text = PathText(path);
  if (!text) return std::nullopt;
  return IfValid("json_type(body, " + *text + ") IN ('true', 'false', 'object', 'array')");
}

std::optional<Term> TermFor(const Filter::Condition& condition) {
  if (detail::IsKeyPath(condition.path)) return KeyTerm(condition);
  const auto field = FieldSql(condition.path);
  if (!field) return std::nullopt;
  const nlohmann::json& value = condition.value;
  if (condition.op == Op::kNotEqual) {
    if (!value.is_null()) return std::nullopt;
    return Term{*field + " IS NOT NULL", {}};
  }
  if (value.is_null()) {
    return condition.op == Op::kEqual ? Term{*field + " IS NULL", {}} : Term{"0", {}};
  }
  if (value.is_boolean()) {
    // Lets numbers through as well. Compares with one value instead of a range, so that an index
    // can give the order of the following fields.
    if (condition.op == Op::kEqual) return Term{*field + " = ?", {std::int64_t{value.get<bool>()}}};
    return Term{*field + " BETWEEN 0 AND 1", {}};
  }
  if (value.is_number()) return NumberTerm(*field, condition.op, value);
  // Typed values are JSON text here, whose order is not theirs.
  if (value.is_object()) return Term{*field + " >= '{' AND " + *field + " < '|'", {}};
  return TextTerm(*field, condition.op, value.get_ref<const std::string&>());
}

}  // namespace doclock::sqlite
