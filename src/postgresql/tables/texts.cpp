#include "postgresql/tables/texts.h"

#include <stdexcept>
#include <variant>

#include "doclock/errors.h"
#include "doclock/uuid_json.h"
#include "document/json/exact_json.h"
#include "document/json/number_parts.h"
#include "document/values/utf8.h"

namespace doclock::postgresql {
namespace {

/// One digit less before the point than `numeric` has, so that an index has a bound beyond all.
bool FitsNumeric(std::string_view literal) {
  const auto parts = detail::NumberParts::Of(literal);
  return parts && parts->before_point < 131072 && parts->behind_point <= 16383;
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
  if (exact.literals.is_null() && body.text().find("\\u0000") == std::string::npos) return;
  detail::ForEachValue(exact, [](const std::string& path, const auto& value, const auto& literal) {
    const char* why = nullptr;
    if (const auto* const text = value.template get_ptr<const std::string*>()) {
      if (text->find('\0') != text->npos) why = "holds U+0000";
    } else if (literal.is_string()) {
      if (!FitsNumeric(literal.template get_ref<const std::string&>())) {
        why = "has more digits than PostgreSQL's numeric";
      }
    }
    if (why == nullptr) return;
    throw DocumentException("the body cannot be stored by PostgreSQL: the member " +
                            detail::QuotedName(path) + " " + why);
  });
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
