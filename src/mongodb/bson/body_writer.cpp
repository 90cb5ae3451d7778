#include <bson/bson.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>

#include "doclock/errors.h"
#include "document/json/bson_size.h"
#include "document/json/exact_json.h"
#include "document/json/number_parts.h"
#include "document/json/typed_value.h"
#include "document/values/base64.h"
#include "document/values/utf8.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/bson/rare_types.h"

namespace doclock::mongodb {
namespace {

using detail::TypedKind;
using nlohmann::json;
using Object = json::object_t;

constexpr std::size_t kOidBytes = 12;
/// Decimal places of a whole number above int64: no other program writes so many.
constexpr std::size_t kDecimalDigits = 34;

[[noreturn]] void Refuse(const char* why) {
  throw DocumentException(std::string("the body cannot be put into BSON: ") + why);
}

bool FitsInt32(std::int64_t value) noexcept {
  return value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

bool FitsInt64(std::uint64_t value) noexcept {
  return value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

/// An array's names are its indexes.
class IndexName {
 public:
  explicit IndexName(std::uint32_t index) noexcept {
    size_ = bson_uint32_to_string(index, &text_, buffer_, sizeof buffer_);
  }
  IndexName(const IndexName&) = delete;
  IndexName& operator=(const IndexName&) = delete;
  ~IndexName() = default;
  [[nodiscard]] std::string_view text() const noexcept { return {text_, size_}; }

 private:
  char buffer_[16];
  const char* text_ = nullptr;
  std::size_t size_ = 0;
};

const std::string& TextIn(const json& object, const char* name) {
  return object.get_ptr<const Object*>()->find(name)->second.get_ref<const std::string&>();
}

const json& ContentOf(const json& object) {
  return object.get_ptr<const Object*>()->begin()->second;
}

/// Subtype 2 has a length of its own.
bool IsOldBinary(const std::string& subtype) noexcept { return subtype == "02"; }

/// Writes bytes one after the other.
class Writer {
 public:
  explicit Writer(std::uint8_t* at) noexcept : at_(at) {}

  void Element(std::string_view name, const json& value) {
    if (name.find('\0') != name.npos) Refuse("a field's name holds NUL");
    if (!detail::IsUtf8(name)) Refuse("a field's name is not valid UTF-8");
    std::uint8_t* const type = at_++;
    Bytes(name.data(), name.size());
    *at_++ = 0;
    *type = Value(value);
  }

  void Members(const Object& members) {
    for (const auto& [name, value] : members) Element(name, value);
  }

  [[nodiscard]] std::uint8_t* at() const noexcept { return at_; }

 private:
  void Bytes(const void* bytes, std::size_t count) noexcept {
    if (count > 0) std::memcpy(at_, bytes, count);
    at_ += count;
  }
  void Put32(std::uint32_t value) noexcept {
    const std::uint32_t little = BSON_UINT32_TO_LE(value);
    Bytes(&little, sizeof little);
  }
  void Put64(std::uint64_t value) noexcept {
    const std::uint64_t little = BSON_UINT64_TO_LE(value);
    Bytes(&little, sizeof little);
  }

  /// Returns the type.
  std::uint8_t Value(const json& value) {
    switch (value.type()) {
      case json::value_t::null:
        return BSON_TYPE_NULL;
      case json::value_t::boolean:
        *at_++ = *value.get_ptr<const bool*>() ? 1 : 0;
        return BSON_TYPE_BOOL;
      case json::value_t::number_integer:
        return Integer(*value.get_ptr<const std::int64_t*>());
      case json::value_t::number_unsigned: {
        const std::uint64_t number = *value.get_ptr<const std::uint64_t*>();
        return FitsInt64(number) ? Integer(static_cast<std::int64_t>(number))
                                 : LargeInteger(number);
      }
      case json::value_t::number_float:
        Put64(std::bit_cast<std::uint64_t>(*value.get_ptr<const double*>()));
        return BSON_TYPE_DOUBLE;
      case json::value_t::string:
        return Text(*value.get_ptr<const std::string*>());
      case json::value_t::array:
        return Array(*value.get_ptr<const json::array_t*>());
      case json::value_t::object:
        return ObjectOrTyped(value);
      default:
        Refuse("it holds binary data");
    }
  }

  std::uint8_t Integer(std::int64_t number) noexcept {
    if (FitsInt32(number)) {
      Put32(static_cast<std::uint32_t>(number));
      return BSON_TYPE_INT32;
    }
    Put64(static_cast<std::uint64_t>(number));
    return BSON_TYPE_INT64;
  }

  std::uint8_t LargeInteger(std::uint64_t number) {
    std::string text = std::to_string(number);
    text += "." + std::string(kDecimalDigits - text.size(), '0');
    return Decimal(text);
  }

  std::uint8_t Decimal(const std::string& text) {
    bson_decimal128_t decimal;
    if (!bson_decimal128_from_string(text.c_str(), &decimal)) Refuse("a decimal is out of range");
    Put64(decimal.low);
    Put64(decimal.high);
    return BSON_TYPE_DECIMAL128;
  }

  std::uint8_t Text(const std::string& text) {
    if (!detail::IsUtf8(text)) Refuse("a string is not valid UTF-8");
    Put32(static_cast<std::uint32_t>(text.size() + 1));
    Bytes(text.c_str(), text.size() + 1);
    return BSON_TYPE_UTF8;
  }

  /// Writes a value with a length before and a zero after.
  template <class Fill>
  void Frame(const Fill& fill) {
    std::uint8_t* const begin = at_;
    at_ += sizeof(std::uint32_t);
    fill();
    *at_++ = 0;
    const auto size = BSON_UINT32_TO_LE(static_cast<std::uint32_t>(at_ - begin));
    std::memcpy(begin, &size, sizeof size);
  }

  std::uint8_t Array(const json::array_t& values) {
    Frame([&] {
      std::uint32_t index = 0;
      for (const json& value : values) Element(IndexName(index++).text(), value);
    });
    return BSON_TYPE_ARRAY;
  }

  std::uint8_t ObjectOrTyped(const json& value) {
    switch (detail::KindOf(value)) {
      case TypedKind::kDate:
        return Date(TextIn(ContentOf(value), "$numberLong"));
      case TypedKind::kBinary:
        return Binary(ContentOf(value));
      case TypedKind::kObjectId:
        return ObjectId(ContentOf(value).get_ref<const std::string&>());
      case TypedKind::kDecimal:
        return Decimal(ContentOf(value).get_ref<const std::string&>());
      case TypedKind::kNone:
        break;
    }
    const Object& object = *value.get_ptr<const Object*>();
    if (MayBeRare(object)) {
      if (const auto rare = ParseRare(value)) return Rare(*rare);
    }
    Frame([&] { Members(object); });
    return BSON_TYPE_DOCUMENT;
  }

  std::uint8_t Date(const std::string& text) noexcept {
    std::int64_t time = 0;
    std::from_chars(text.data(), text.data() + text.size(), time);
    Put64(static_cast<std::uint64_t>(time));
    return BSON_TYPE_DATE_TIME;
  }

  std::uint8_t Binary(const json& content) {
    const auto bytes = detail::DecodeBase64(TextIn(content, "base64"));
    const std::string& subtype = TextIn(content, "subType");
    const auto size = static_cast<std::uint32_t>(bytes->size());
    Put32(size + (IsOldBinary(subtype) ? 4 : 0));
    std::from_chars(subtype.data(), subtype.data() + subtype.size(), *at_++, 16);
    if (IsOldBinary(subtype)) Put32(size);
    Bytes(bytes->data(), size);
    return BSON_TYPE_BINARY;
  }

  std::uint8_t ObjectId(const std::string& text) noexcept {
    for (std::size_t i = 0; i < kOidBytes; ++i) {
      const char* const digits = text.data() + 2 * i;
      std::from_chars(digits, digits + 2, *at_++, 16);
    }
    return BSON_TYPE_OID;
  }

  std::uint8_t Rare(const Doc& wrapped) noexcept {
    const std::uint8_t* const element = bson_get_data(wrapped.get()) + sizeof(std::uint32_t);
    Bytes(element + 1 + sizeof("v"), wrapped.get()->len - detail::kBsonFrame - 1 - sizeof("v"));
    return element[0];
  }

  std::uint8_t* at_;
};

}  // namespace

const json& TreeForBson(const Body& body) {
  const detail::ExactJson& exact = detail::BodyAccess::Exact(body);
  if (exact.literals.is_null()) return exact.tree;
  detail::ForEachValue(
      exact, [](const detail::Place& place, const json& value, const json& literal) {
        if (!literal.is_string()) return;
        const auto meant = detail::NumberParts::Of(literal.get_ref<const std::string&>());
        const auto kept = detail::NumberParts::Of(value.dump());
        if (meant && kept && meant->IsSameValue(*kept)) return;
        throw DocumentException("the body cannot be put into BSON with all digits: the number " +
                                detail::QuotedName(place.Path()) +
                                " is neither a double nor a 64-bit integer; write it as "
                                R"({"$numberDecimal":"..."})");
      });
  return exact.tree;
}

void AppendValue(Doc& doc, std::string_view name, const json& value) {
  Writer writer(doc.Grow(detail::BsonBytes(name, value)));
  writer.Element(name, value);
  doc.Trim(writer.at());
}

void AppendMembers(Doc& doc, const json& body) {
  const auto* const members = body.get_ptr<const Object*>();
  if (members == nullptr) throw DocumentException("the body is not a JSON object");
  // Not the size of the body as a value: it may look like one of another type, `{"$oid": ...}`.
  std::size_t bytes = 0;
  for (const auto& [name, value] : *members) bytes += detail::BsonBytes(name, value);
  Writer writer(doc.Grow(bytes));
  writer.Members(*members);
  doc.Trim(writer.at());
}

}  // namespace doclock::mongodb
