#include "document/json/bson_size.h"

#include <cstdint>
#include <string>

#include "document/json/typed_value.h"

namespace doclock::detail {
namespace {

using nlohmann::json;

/// An array's names are its indexes.
std::size_t ArrayBytes(const json::array_t& values) {
  std::size_t bytes = kBsonFrame, index = 0;
  for (const json& value : values) bytes += BsonBytes(std::to_string(index++), value);
  return bytes;
}

std::size_t BinaryBytes(const json& content) {
  const auto& text = content.at("base64").get_ref<const std::string&>();
  const std::size_t padding = text.ends_with("==") ? 2 : (text.ends_with('=') ? 1 : 0);
  const bool has_inner_length = content.at("subType") == "02";
  return 4 + 1 + text.size() / 4 * 3 - padding + (has_inner_length ? 4 : 0);
}

std::size_t IntegerBytes(std::int64_t number) noexcept {
  return number >= INT32_MIN && number <= INT32_MAX ? 4 : 8;
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
  std::size_t bytes = kBsonFrame;
  for (const auto& [name, member] : object) bytes += BsonBytes(name, member);
  return bytes;
}

}  // namespace

std::size_t BsonBytes(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return 0;
    case json::value_t::boolean:
      return 1;
    case json::value_t::number_integer:
      return IntegerBytes(value.get<std::int64_t>());
    case json::value_t::number_unsigned:
      // Above int64 it is a decimal.
      return value.get<std::uint64_t>() > INT64_MAX ? 16 : IntegerBytes(value.get<std::int64_t>());
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

}  // namespace doclock::detail
