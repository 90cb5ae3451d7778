#include "doclock/json/uuid.h"

#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <charconv>
#include <stdexcept>

#include "document/json/typed_value.h"
#include "document/values/refusing.h"

namespace doclock {
namespace {

constexpr std::size_t kUuidLength = 36;

bool IsHex(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Has it 8-4-4-4-12 hexadecimal digits? (Boost's generator accepts more forms.)
bool IsUuidText(const std::string& text) noexcept {
  if (text.size() != kUuidLength) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !IsHex(text[i])) return false;
  }
  return true;
}

}  // namespace

std::string ToText(const Uuid& id) { return boost::uuids::to_string(id); }

std::string ToText(const ObjectId& id) { return Key(id).ToString(); }

Uuid UuidFromText(const std::string& text) {
  if (!IsUuidText(text)) throw std::invalid_argument("doclock: not the text of a UUID");
  return boost::uuids::string_generator{}(text);
}

ObjectId ObjectIdFromText(const std::string& text) {
  ObjectId id;
  if (text.size() != 2 * id.bytes.size())
    throw std::invalid_argument("doclock: an ObjectId is 24 digits");
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, id.bytes[i], 16);
    if (error != std::errc() || end != digits + 2) {
      throw std::invalid_argument("doclock: an ObjectId is 24 hexadecimal digits");
    }
  }
  return id;
}

nlohmann::json ToExtendedJson(const ObjectId& id) {
  nlohmann::json value = nlohmann::json::object();
  value["$oid"] = ToText(id);
  return value;
}

Uuid UuidFromJson(const nlohmann::json& value) {
  if (!value.is_string()) throw JsonValueError(value, "doclock: a UUID that is no text");
  return detail::Refusing(value, [&] { return UuidFromText(value.get_ref<const std::string&>()); });
}

ObjectId ObjectIdFromJson(const nlohmann::json& value) {
  if (value.is_string()) {
    return detail::Refusing(value,
                            [&] { return ObjectIdFromText(value.get_ref<const std::string&>()); });
  }
  if (detail::KindOf(value) != detail::TypedKind::kObjectId) {
    throw JsonValueError(value, "doclock: the JSON value is not an ObjectId");
  }
  return ObjectIdFromText(value.at("$oid").get_ref<const std::string&>());
}

}  // namespace doclock
