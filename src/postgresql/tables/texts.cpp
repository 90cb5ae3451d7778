#include "postgresql/tables/texts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <variant>

#include "doclock/errors.h"
#include "doclock/uuid_json.h"

namespace doclock::postgresql {
namespace {

/// Copies a body's text, and changes what jsonb would not keep.
class BodyCopy {
 public:
  explicit BodyCopy(const std::string& text) : text_(text) { body_.json.reserve(text.size()); }

  StoredBody Make() && {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        CopyText();
      } else if (c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0) {
        CopyNumber();
      } else {
        body_.json += c;
        ++at_;
      }
    }
    return std::move(body_);
  }

 private:
  void CopyText() {
    const std::size_t begin = at_++;
    bool has_escapes = false;
    // Most of a large body is text.
    while (at_ += std::strcspn(text_.c_str() + at_, "\"\\"), text_.at(at_) == '\\') {
      at_ += 2;
      has_escapes = true;
    }
    ++at_;
    const std::string_view text = std::string_view(text_).substr(begin, at_ - begin);
    has_escapes ? CopyEscapes(text) : void(body_.json += text);
  }

  void CopyEscapes(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t length = text[i] != '\\' ? 1 : text.substr(i, 2) == "\\u" ? 6 : 2;
      const std::string_view one = text.substr(i, length);
      i += length;
      if (one == "\\u0000" || one == "\\u0001") {
        body_.json += one == "\\u0000" ? "\\u0001\\u0001" : "\\u0001\\u0002";
        body_.is_changed = true;
      } else {
        body_.json += one;
      }
    }
  }

  void CopyNumber() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_not_of("+-.eE0123456789", at_), text_.size());
    const std::string_view number = std::string_view(text_).substr(begin, at_ - begin);
    if (number.front() == '-' && number.find_first_not_of("-.0") == number.npos) {
      body_.json += number.substr(1);  // jsonb has no minus zero
      body_.is_changed = true;
    } else if (number.find_first_of("eE") != number.npos) {
      CopyWithoutExponent(number);
    } else {
      body_.json += number;
    }
  }

  /// jsonb makes 1e15 a whole number, which is another kind. With a point it stays what it is.
  void CopyWithoutExponent(std::string_view number) {
    const std::size_t e = number.find_first_of("eE");
    int exponent = 0;
    const char* const digits = number.data() + e + (number[e + 1] == '+' ? 2 : 1);
    std::from_chars(digits, number.data() + number.size(), exponent);
    const std::string_view mantissa = number.substr(0, e);
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    const std::string_view fraction = mantissa.substr(std::min(point + 1, mantissa.size()));
    if (exponent < static_cast<int>(fraction.size())) {
      body_.json += number;
      return;
    }
    body_.json.append(mantissa.substr(0, point)).append(fraction);
    body_.json.append(static_cast<std::size_t>(exponent) - fraction.size(), '0').append(".0");
  }

  const std::string& text_;
  std::size_t at_ = 0;
  StoredBody body_;
};

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

StoredBody ToStored(const std::string& text) { return BodyCopy(text).Make(); }

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
