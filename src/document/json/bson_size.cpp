#include "document/json/bson_size.h"

#include <cstdint>
#include <string>

#include "document/json/typed_value.h"
#include "document/values/base64.h"

namespace doclock::detail {
namespace {

using nlohmann::json;

/// A document's length before, and a zero after.
constexpr std::size_t kFrame = 5;

std::size_t ValueBytes(const json& value);

/// Type, name, zero, value.
std::size_t ElementBytes(std::size_t name, const json& value) {
  return 1 + name + 1 + ValueBytes(value);
}

/// An array's names are its indexes.
std::size_t ArrayBytes(const json::array_t& values) {
  std::size_t bytes = kFrame, index = 0;
  for (const json& value : values) bytes += ElementBytes(std::to_string(index++).size(), value);
  return bytes;
}

std::size_t BinaryBytes(const json& content) {
  const auto bytes = DecodeBase64(content.at("base64").get_ref<const std::string&>());
  const bool has_inner_length = content.at("subType") == "02";
  return 4 + 1 + bytes->size() + (has_inner_length ? 4 : 0);
}

std::size_t ObjectBytes(const json& value) {
  const auto& object = value.get_ref<const json::object_t&>();
  switch (KindOf(value)) {
    case TypedKind::kDate:
      return 8;
    case TypedKind::kBinary:
      return BinaryBytes(object.begin()->second);
    case TypedKind::kObjectId:
      return 12;
    case TypedKind::kDecimal:
      return 16;
    case TypedKind::kNone:
      break;
  }
  std::size_t bytes = kFrame;
  for (const auto& [name, member] : object) bytes += ElementBytes(name.size(), member);
  return bytes;
}

std::size_t ValueBytes(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return 0;
    case json::value_t::boolean:
      return 1;
    case json::value_t::number_integer:
    case json::value_t::number_unsigned: {
      const auto number = value.get<std::int64_t>();
      return number >= INT32_MIN && number <= INT32_MAX ? 4 : 8;
    }
    case json::value_t::string:
      return 4 + value.get_ref<const std::string&>().size() + 1;
    case json::value_t::array:
      return ArrayBytes(value.get_ref<const json::array_t&>());
    case json::value_t::object:
      return ObjectBytes(value);
    default:
      return 8;
  }
}

}  // namespace

std::size_t BsonBytes(const json& object) { return ValueBytes(object); }

}  // namespace doclock::detail
