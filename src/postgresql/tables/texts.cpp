#include "postgresql/tables/texts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <variant>

#include "doclock/errors.h"
#include "doclock/json/uuid.h"
#include "document/json/exact_json.h"
#include "document/json/number_parts.h"
#include "document/values/utf8.h"

namespace doclock::postgresql {
namespace {

/// One digit less before the point than `numeric` has, so that an index has a bound beyond all.
bool FitsNumeric(const detail::NumberParts& parts) {
  return parts.before_point < 131072 && parts.behind_point <= 16383;
}

/// Whether there is a number with an exponent, or what looks like one.
bool HasExponent(std::string_view text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  for (std::size_t at = text.find('e'); at != text.npos; at = text.find('e', at + 1)) {
    if (at > 0 && is_digit(at - 1) && is_digit(at + 2)) return true;
  }
  return false;
}

/// The literals of a value, and those of doubles that would come back as whole numbers: jsonb
/// writes 1e15 without its exponent.
nlohmann::json WithPoints(const nlohmann::json& value, nlohmann::json literals) {
  constexpr double kWrittenInFull = 1e15;
  if (value.is_number_float() && literals.is_null()) {
    const auto number = value.get<double>();
    if (std::abs(number) < kWrittenInFull || std::trunc(number) != number) return literals;
    std::array<char, 320> text;
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, 1);
    return std::string(text.data(), end.ptr);
  }
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      const bool has_some = literals.is_object() && literals.contains(name);
      auto inner = WithPoints(member, has_some ? literals[name] : nlohmann::json());
      if (!inner.is_null()) literals[name] = std::move(inner);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const bool has_some = literals.is_array() && i < literals.size();
      auto inner = WithPoints(value[i], has_some ? literals[i] : nlohmann::json());
      if (!inner.is_null()) literals[i] = std::move(inner);
    }
  }
  return literals;
}

struct ToColumns {
  KeyColumns operator()(const std::string& text) const { return {0, 0, Escaped(text)}; }
  KeyColumns operator()(std::int64_t number) const { return {1, number, ""}; }
  KeyColumns operator()(const Uuid& id) const { return {2, 0, ToText(id)}; }
  KeyColumns operator()(const ObjectId& id) const { return {3, 0, ToText(id)}; }
};

}  // namespace

std::string Escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '\0' || c == '\1') {
      escaped += {'\1', c == '\0' ? '\1' : '\2'};
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Unescaped(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\1' && i + 1 < text.size();
    plain += is_escape ? static_cast<char>(text[++i] - 1) : text[i];
  }
  return plain;
}

void CheckForJsonb(const Body& body) {
  const auto& exact = detail::BodyAccess::Exact(body);
  const std::string& text = body.text();
  if (exact.literals.is_null() && text.find("\\u0000") == text.npos && !HasExponent(text)) return;
  std::size_t bytes = text.size();
  const auto check = [&](const detail::Place& place, const nlohmann::json& value,
                         const nlohmann::json& literal) {
    const auto refuse = [&](const char* why) {
      throw DocumentException("the body cannot be stored by PostgreSQL: the member " +
                              detail::QuotedName(place.Path()) + " " + why);
    };
    if (const auto* const string = value.get_ptr<const std::string*>()) {
      if (string->find('\0') != string->npos) refuse("holds U+0000");
      return;
    }
    if (!value.is_number_float() && !literal.is_string()) return;
    const std::string number = literal.is_string() ? literal.get<std::string>() : value.dump();
    const auto parts = detail::NumberParts::Of(number);
    if (!parts || !FitsNumeric(*parts)) return refuse("has more digits than PostgreSQL's numeric");
    const auto digits = static_cast<std::size_t>(std::max<std::int64_t>(parts->before_point, 0) +
                                                 parts->behind_point);
    if (digits > number.size()) bytes += digits - number.size();
    if (bytes > kMaxBodyBytes) refuse("makes it too long: PostgreSQL writes all digits of numbers");
  };
  detail::ForEachValue(exact, check);
}

std::string JsonbOf(const Body& body) {
  if (body.text().find("e+") == std::string::npos) return body.text();
  const auto& exact = detail::BodyAccess::Exact(body);
  return detail::Print({exact.tree, WithPoints(exact.tree, exact.literals)});
}

KeyColumns ColumnsOf(const Key& key) { return std::visit(ToColumns(), key.value()); }

void AddKey(Parameters& parameters, const Key& key) {
  const KeyColumns columns = ColumnsOf(key);
  parameters.Int2(columns.kind).Int8(columns.number).Text(columns.text);
}

Key KeyFrom(const Result& result, int row, int column) {
  const std::string text(result.Text(row, column + 2));
  try {
    switch (result.Number(row, column)) {
      case 0:
        return Key(Unescaped(text));
      case 1:
        return Key(result.Number(row, column + 1));
      case 2:
        return Key(UuidFromText(text));
      case 3:
        return Key(ObjectIdFromText(text));
      default:
        break;
    }
  } catch (const std::invalid_argument&) {
  }
  throw StoreException(Errc::kMalformed, "doclock: a row's key is not what this library writes");
}

}  // namespace doclock::postgresql
