#include "document/json/typed_value.h"

#include <charconv>
#include <string>

#include "document/values/base64.h"
#include "document/values/decimal_text.h"

namespace doclock::detail {
namespace {

using nlohmann::json;
using Object = json::object_t;

constexpr std::size_t kObjectIdDigits = 24;

/// The member of that name, if it is a string.
const std::string* TextAt(const Object& object, const char* name) noexcept {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : found->second.get_ptr<const std::string*>();
}

bool IsLowerHex(const std::string& text) noexcept {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// A whole number, written as numbers are.
bool ReadNumber(const std::string& text, std::int64_t& number) noexcept {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return false;
  const std::size_t first = text.front() == '-' ? 1 : 0;
  return text[first] != '0' || text.size() == 1;
}

bool IsDate(const json& value) noexcept {
  const auto* const object = value.get_ptr<const Object*>();
  if (object == nullptr || object->size() != 1) return false;
  const std::string* const text = TextAt(*object, "$numberLong");
  std::int64_t number = 0;
  return text != nullptr && ReadNumber(*text, number);
}

bool IsBinary(const json& value) noexcept {
  const auto* const object = value.get_ptr<const Object*>();
  if (object == nullptr || object->size() != 2) return false;
  const std::string* const bytes = TextAt(*object, "base64");
  const std::string* const subtype = TextAt(*object, "subType");
  return bytes != nullptr && subtype != nullptr && subtype->size() == 2 && IsLowerHex(*subtype) &&
         IsBase64(*bytes);
}

bool IsDecimal(const std::string& text) {
  const auto parts = ParseDecimal(text);
  return parts && PrintDecimal(*parts) == text;
}

std::int64_t TimeOf(const json& date) {
  std::int64_t time = 0;
  ReadNumber(*TextAt(*date.at("$date").get_ptr<const Object*>(), "$numberLong"), time);
  return time;
}

/// Length, subtype, bytes: as MongoDB compares them.
int CompareBinaries(const json& a, const json& b) {
  const json &x = a.at("$binary"), &y = b.at("$binary");
  const auto left = DecodeBase64(x.at("base64").get_ref<const std::string&>());
  const auto right = DecodeBase64(y.at("base64").get_ref<const std::string&>());
  if (left->size() != right->size()) return left->size() < right->size() ? -1 : 1;
  const int subtypes = x.at("subType").get_ref<const std::string&>().compare(
      y.at("subType").get_ref<const std::string&>());
  if (subtypes != 0) return subtypes;
  return *left < *right ? -1 : (*right < *left ? 1 : 0);
}

const std::string& OnlyText(const json& value) {
  return value.get_ptr<const Object*>()->begin()->second.get_ref<const std::string&>();
}

}  // namespace

TypedKind KindOf(const json& value) noexcept {
  const auto* const object = value.get_ptr<const Object*>();
  if (object == nullptr || object->size() != 1) return TypedKind::kNone;
  const auto& [name, content] = *object->begin();
  if (name.empty() || name.front() != '$') return TypedKind::kNone;
  if (name == "$date") return IsDate(content) ? TypedKind::kDate : TypedKind::kNone;
  if (name == "$binary") return IsBinary(content) ? TypedKind::kBinary : TypedKind::kNone;
  const auto* const text = content.get_ptr<const std::string*>();
  if (text == nullptr) return TypedKind::kNone;
  if (name == "$oid" && text->size() == kObjectIdDigits && IsLowerHex(*text)) {
    return TypedKind::kObjectId;
  }
  return name == "$numberDecimal" && IsDecimal(*text) ? TypedKind::kDecimal : TypedKind::kNone;
}

int CompareTyped(TypedKind kind, const json& a, const json& b) noexcept {
  switch (kind) {
    case TypedKind::kDate: {
      const std::int64_t x = TimeOf(a), y = TimeOf(b);
      return x < y ? -1 : (y < x ? 1 : 0);
    }
    case TypedKind::kBinary:
      return CompareBinaries(a, b);
    case TypedKind::kObjectId:
      return OnlyText(a).compare(OnlyText(b));
    case TypedKind::kDecimal:
      return CompareDecimals(*ParseDecimal(OnlyText(a)), *ParseDecimal(OnlyText(b)));
    case TypedKind::kNone:
      break;
  }
  return 0;
}

}  // namespace doclock::detail
